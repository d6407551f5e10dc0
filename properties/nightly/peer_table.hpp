/// How other projects would have judged the planted faults: their rules and our judge on the same outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "properties/nightly/fault.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay {

struct peer_options {
  std::int64_t cases = 40;  ///< of each kind, for each library and combination of types
  std::uint64_t seed = 1;
  int jobs = 1;
  double limit_seconds = 60;  ///< for one case, as run_workers() takes it
};

/// The two kinds of cases: those that our suite generates for output_enclosed, and those of peer_case().
enum class case_kind { ours, peers };
inline constexpr case_kind case_kinds[] = {case_kind::ours, case_kind::peers};

/// What one judge saw in the cases of one kind.
struct judge_counts {
  std::int64_t faults_seen = 0;    ///< faults that it flags in a case where it accepts the clean kernel
  std::int64_t faults_judged = 0;  ///< faults with an output that it can judge
  std::int64_t wrong_seen = 0;     ///< of those below: runs that it flags where it accepts the clean kernel
  std::int64_t wrong_runs = 0;     ///< runs of faults whose outputs differ in a bit from the clean kernel's
  std::int64_t false_alarms = 0;   ///< cases of the clean kernels that it flags
  std::int64_t clean_cases = 0;    ///< cases of the clean kernels that it can judge
};

struct judge_row {
  std::string name;
  std::string rule;
  judge_counts of[2];             ///< by case_kind
  std::vector<std::string> seen;  ///< names of the faults that it sees in cases of either kind
};

struct peer_table {
  std::vector<judge_row> rows;  ///< the peers' rules, then the enclosure alone, then all checks of one run
  std::int64_t faults = 0;
  /// Faults of which some run ended at one of our guard pages, so that it has no output that a rule could judge.
  std::int64_t stopped[2] = {0, 0};
  peer_options options;
};

/// Judges each fault's library in the fault's own types, and the clean (built-in) kernels of these faults in all types.
/// `open` loads the faulty library; `begin` is called before each, with its name. The result depends only on the
/// libraries, cases and seed.
peer_table compare_with_peers(const std::vector<fault>& faults,
                              const std::function<std::shared_ptr<library>(const fault&)>& open,
                              const peer_options& options, const std::function<void(const std::string&)>& begin);

/// Whether our own judge accepts the clean kernels in all cases.
bool accepts_clean(const peer_table& table);

/// A line per judge, in columns or as Markdown.
std::string peer_table_text(const peer_table& table);
std::string peer_table_markdown(const peer_table& table);

/// The same as JSON with the names of the faults that each judge sees; stable keys, version 1.
std::string peer_table_json(const peer_table& table);

}  // namespace assay
