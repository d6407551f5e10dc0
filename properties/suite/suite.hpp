/// A run of the property suite: numbered cases, checked in several processes; failures are shrunk and stored.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "properties/generate/coverage.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/suite/minimize.hpp"

namespace assay {

struct suite_options {
  std::vector<std::string> kernels;       ///< to generate cases for: at least one of the case space
  std::vector<std::string> types;         ///< as types_of() names them; empty: all of the case space
  std::vector<const property*> selected;  ///< properties to check; case i goes to number i mod size
  std::vector<const property*> left_out;  ///< that were asked for, and that no kernel of the run can show
  support_map supports;                   ///< what the kernels take, where the library says so
  library_traits traits;                  ///< of the library
  bool has_predicate = false;             ///< the library may refuse a case within `supports`: it is drawn anew
  std::vector<const library*> others;     ///< libraries that must not refuse the run's cases either
  std::int64_t cases = 2000;              ///< of the whole run, all shards together
  double seconds = 0;                     ///< if above 0: the duration of the run, instead of `cases`
  std::uint64_t seed = 1;
  int jobs = 1;
  std::int64_t shard = 1;  ///< of `shards`, from 1
  std::int64_t shards = 1;
  double limit_seconds = 60;  ///< for one case, as run_workers() takes it
  shrink_budget budget;
  std::set<std::string> origins;            ///< of failures to shrink and report; others are only counted; empty: all
  std::int64_t workspace_budget_bytes = 0;  ///< for the split workspaces of each case; 0: the library's own
  std::int64_t waves = 0;                   ///< lanes of each case's waves, 32 or 64; 0: either
  std::filesystem::path findings = "out/findings";
  std::string library_arguments;  ///< " --library X.so --unchecked", for the lines that replay
  bool accept_blunt = false;      ///< a run that reached little, or saw few standard faults, counts as verified
  bool stops_at_failure = false;  ///< no case begins after one has failed
  bool progress = false;          ///< on stderr
};

/// Counts of one cell of the table: a kernel, a property, a combination of types.
struct counts {
  std::int64_t pass = 0;
  std::int64_t fail = 0;
  std::int64_t discard = 0;
  std::int64_t undecided = 0;
  std::int64_t total() const { return pass + fail + discard + undecided; }
  std::int64_t& of(outcome result);  ///< the count of this outcome
  counts& operator+=(const counts& other);
  bool operator==(const counts&) const = default;
};

/// A kind of failure, as kept: its first case, shrunk.
struct finding {
  std::int64_t index = 0;            ///< the case's number in the run
  std::int64_t draw = 0;             ///< which draw of that number
  const property* met_by = nullptr;  ///< the property that the case was drawn for
  const property* broken = nullptr;  ///< by `shrunk`: the enclosure if that shows the failure, else `met_by`
  std::string origin;                ///< in the run; the same for all cases of the kind (failure_kind)
  std::string what;                  ///< in the run
  double seconds = 0;                ///< that the case took in the run
  minimized shrunk;
  std::filesystem::path file;
  std::int64_t alike = 0;  ///< cases that failed so first; 0: it was only seen beside others
};

/// A case that the contract leaves undecided.
struct undecided_case {
  std::int64_t index = 0;  ///< its number in the run
  const property* met_by = nullptr;
  std::string what;
  std::filesystem::path file;
  std::int64_t draw = 0;  ///< which draw of that number
};
inline constexpr std::size_t most_undecided_cases = 3;  ///< that a run keeps

/// A case that took long.
struct slow_case {
  double seconds = 0;  ///< of processor time, by all of its check
  std::int64_t index = 0;
  const property* met_by = nullptr;
  std::string kernel;
  std::string types;
};
inline constexpr std::size_t most_slow_cases = 10;  ///< that a run keeps

/// Keeps the slowest ones, the slowest first.
void add_slow_case(std::vector<slow_case>& slowest, slow_case added);

struct suite_result {
  std::map<std::tuple<std::string, std::string, std::string>, counts> table;  ///< kernel, property, types
  std::map<std::string, std::int64_t> discards;                               ///< by reason
  std::vector<finding> findings;                                              ///< by number of their case
  std::vector<undecided_case> undecided;                                      ///< the first few, by number
  std::vector<slow_case> slowest;                                             ///< the slowest first
  counts total;
  double seconds = 0;
  std::int64_t outputs_judged = 0;    ///< elements of o or logits whose enclosure is inexact
  std::int64_t outputs_sharp = 0;     ///< those of them whose enclosure allows at most two values
  std::int64_t rows_regressed = 0;    ///< verdict::rows_regressed
  std::int64_t lse_regressed = 0;     ///< verdict::lse_regressed
  std::int64_t accesses_checked = 0;  ///< loads and stores of the kernels
  std::int64_t redrawn = 0;           ///< draws that the library's predicate refused
  /// By kernel, of cases whose loads and stores were to be checked, in a library that was compiled for it: how many
  /// were.
  std::map<std::string, std::int64_t> checked;
  std::map<std::string, std::int64_t> accepted;  ///< defects that --accept names, by its line
  std::map<std::tuple<std::string, std::string, std::string>, bite> teeth;  ///< kernel, types, standard fault
  std::map<std::pair<std::string, std::string>, counts> reached;            ///< kernel, name of reachable()
  triple_coverage triples;
  pair_coverage pairs;        ///< of features, in cases that passed
  double kernel_seconds = 0;  ///< over all processes
  double oracle_seconds = 0;
  std::vector<std::string> unwritten;  ///< what could not be written, and why: a case that failed or is undecided
};

/// What the kernel takes, in the types of the run.
assay_support support_in(const suite_options& options, const std::string& kernel);

/// The types of the kernel that the run draws from.
std::vector<std::string> types_of_run(const suite_options& options, const std::string& kernel);

/// What the run's kernels do not show, and why, a line each: "split_kv: split_count (the kernel takes no number of
/// splits)". Of options.left_out.
std::vector<std::string> left_out_lines(const suite_options& options);

/// Whether the property applies to one of the run's kernels in one of its types, and what the kernel takes suffices.
bool can_be_checked(const property& p, const suite_options& options);

/// Case `index` of a run, within what its kernel takes. Depends only on seed, index, selected properties, kernels,
/// types and what the kernels take. `draw`: another one in its place, each a number of its own. Throws
/// std::invalid_argument if its property cannot be checked.
attention_case suite_case(const suite_options& options, std::int64_t index, std::int64_t draw = 0);

/// The numbers of the cases to run, in order, as requests of workers.
class case_numbers {
 public:
  using clock = std::chrono::steady_clock;
  case_numbers(const suite_options& options, clock::time_point start) : options_(options), start_(start) {}
  std::optional<std::string> next();
  static std::int64_t parse(const std::string& request);

 private:
  const suite_options& options_;
  clock::time_point start_;
  std::int64_t index_ = 0;
};

/// The least number of cases of a whole run of which this shard has so many: for another library, on the cases that one
/// had time for.
std::int64_t cases_of_run(const suite_options& options, std::int64_t of_shard);

/// The first draw of the case that no library's predicate refuses; the last one if all are refused. `why`: what is said
/// then, else empty.
std::int64_t first_supported_draw(const library& lib, const suite_options& options, std::int64_t index,
                                  std::string& why);

/// Cases that are drawn in place of one that the library's predicate refuses, before it counts as discarded.
constexpr std::int64_t most_redraws = 20;
const property& suite_property(const suite_options& options, std::int64_t index);

/// Runs the suite. Leaves out properties that cannot be checked. Failures of kernels never throw.
suite_result run_suite(const library& lib, const suite_options& given);

}  // namespace assay
