/// Stored cases run again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "properties/suite/suite.hpp"

namespace assay {

struct replay_options {
  std::vector<const property*> selected;  ///< properties to check; empty: default_properties() of each case
  int jobs = 1;
  double limit_seconds = 60;  ///< for one check, as run_workers() takes it
  bool accuracy = false;      ///< measure the distance of the outputs to exact attention
  bool progress = false;      ///< on stderr
};

/// A stored case and what its checks said.
struct replayed_case {
  std::filesystem::path file;
  attention_case stored;
  std::vector<const property*> selected;
  std::vector<verdict> verdicts;  ///< of `selected`, in order
  std::size_t missing = 0;        ///< verdicts that are still to come
  double seconds = 0;             ///< of processor time
  /// The worst of the verdicts. A discard counts only for the first property: the others may not apply to the case.
  outcome result() const;
};

/// The properties to check on a case unless others are asked for: the enclosure, and the property that its `why` begins
/// with; all that apply to its kernel if the case was named itself.
std::vector<const property*> default_properties(const attention_case& c, bool is_named);

/// The cases in files, and in folders of them, sorted. Throws case_error for a bad file, for a folder without cases,
/// and for a file of a kernel that the library does not have. Cases of such kernels in folders are left out and counted
/// in `skipped`, by kernel.
std::vector<replayed_case> read_replays(const std::vector<std::string>& places, const library& lib,
                                        const replay_options& options, std::map<std::string, int>& skipped);

/// Fills in the verdicts of all cases, and calls `done` for each case, in order. The result has no table and no
/// findings: it counts cases by their worst verdict.
suite_result replay(const library& lib, std::vector<replayed_case>& cases, const replay_options& options,
                    const std::function<void(const replayed_case&)>& done);

/// The counts, and the failures as findings with the keys that they have in a run's report. `library_arguments` is as
/// in suite_options.
std::string replay_json(const std::string& library_arguments, const suite_result& result,
                        const std::vector<replayed_case>& cases);

}  // namespace assay
