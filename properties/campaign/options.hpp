/// A fuzzing campaign: its options, its folders and its result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "properties/campaign/fuzzer_log.hpp"
#include "properties/campaign/target.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/suite/minimize.hpp"

namespace assay::campaign {

struct options {
  target fuzzed;
  std::string library;            ///< as --library takes it; empty: the built-in kernels
  std::string library_arguments;  ///< " --library X.so", for the lines that replay
  execution_checks checks;        ///< as the library under test has them
  /// Judges each case after the library under test, whose coverage chooses them; its tensors may lie on a device. Null:
  /// none. What fails then names its platform: "nvidia: o[0] = ...".
  std::shared_ptr<const assay::library> beside;
  std::string beside_arguments;  ///< as library_arguments
  double seconds = 60;
  int jobs = 1;
  std::uint64_t seed = 1;
  std::filesystem::path dictionary;          ///< of libFuzzer; empty: none
  std::int64_t max_len = 4096;               ///< bytes of an input
  double limit_seconds = 25;                 ///< for one input
  double grace_seconds = 10;                 ///< for a failing process to print its report: sanitizers look up symbols
  std::int64_t rss_limit_mib = 2560;         ///< for one process
  shrink_budget budget;                      ///< for each finding
  std::filesystem::path folder;              ///< the state
  std::vector<std::filesystem::path> seeds;  ///< case files or folders of them
  bool progress = false;                     ///< on stderr, where that is a terminal
};

/// The campaign's state. All of it is in files, so a campaign can continue after a kill. Files that targets write
/// (corpus entries, artifacts) may then be incomplete, which does no harm: any bytes are an input.
struct folders {
  explicit folders(const std::filesystem::path& root)
      : corpus(root / "corpus"),
        failing(root / "failing"),
        artifacts(root / "artifacts"),
        findings(root / "findings"),
        logs(root / "logs") {}
  std::filesystem::path corpus;     ///< inputs worth mutating
  std::filesystem::path failing;    ///< corpus entries that fail, moved here so that new processes can start
  std::filesystem::path artifacts;  ///< inputs that ended a process and were not examined yet
  std::filesystem::path findings;   ///< a file for each finding
  std::filesystem::path logs;       ///< of each job's last process, and the targets' counters
};

/// A kind of failure, as kept.
struct finding {
  std::string name;               ///< origin and fingerprint of the kind: its file's name without the ending
  campaign::complaint complaint;  ///< of the minimized case, where there is one
  std::filesystem::path file;
  std::string replay;        ///< the command that repeats it; empty if there is no input
  std::string shape;         ///< the case, or a description of the bytes
  bool flaky = false;        ///< did not fail every time
  bool is_old = false;       ///< found by an earlier campaign
  bool passes = false;       ///< old, and no longer fails
  int steps = 0;             ///< of the minimization
  std::int64_t alike = 1;    ///< inputs that failed like this
  double after_seconds = 0;  ///< from the start to its discovery
};

/// One moment of the campaign: the best of any process so far.
struct growth {
  double seconds = 0;
  std::int64_t executions = 0;
  std::int64_t coverage = 0;
  std::int64_t features = 0;
  std::int64_t corpus = 0;
};

struct result {
  std::vector<finding> findings;                 ///< in order of discovery
  std::vector<growth> points;                    ///< a few, the last one at the end
  std::map<std::string, std::int64_t> counters;  ///< what the targets count, over all processes
  std::int64_t seeds = 0;                        ///< inputs made of cases
  std::int64_t seeds_outside = 0;                ///< inputs made of cases that are too long
  std::int64_t processes = 0;
  double seconds = 0;
  double process_seconds = 0;  ///< over all processes
  std::string ended_early;     ///< why, in one line; empty if the time ran out
  std::int64_t unseen = 0;     ///< inputs that ended a process and are left for the next campaign to examine
};

}  // namespace assay::campaign
