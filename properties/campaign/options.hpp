/// A fuzzing campaign: what it is given, where it keeps its state, and what came of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "properties/campaign/fuzzer_log.hpp"
#include "properties/campaign/target.hpp"
#include "properties/run/library.hpp"
#include "properties/suite/minimize.hpp"

namespace assay::campaign {

struct options {
  target fuzzed;
  std::string library;            ///< as --library takes it; empty: the built-in kernels
  std::string library_arguments;  ///< " --library X.so", for the lines that replay
  execution_checks checks;        ///< as the library under test has them
  double seconds = 60;
  int jobs = 1;
  std::uint64_t seed = 1;
  std::filesystem::path dictionary;          ///< of libFuzzer; empty: none
  std::int64_t max_len = 4096;               ///< bytes of an input
  double limit_seconds = 25;                 ///< for one input
  double grace_seconds = 10;                 ///< for the words of a process that failed: sanitizers look up symbols
  std::int64_t rss_limit_mib = 2560;         ///< for one process
  shrink_budget budget;                      ///< for each finding
  std::filesystem::path folder;              ///< the state
  std::vector<std::filesystem::path> seeds;  ///< case files or folders of them
  bool progress = false;                     ///< on stderr, where that is a terminal
};

/// The campaign's state, all of it in files, so that it goes on wherever it was ended. What a process writes itself
/// (corpus entries, artifacts) may be half-written after a kill: any bytes are an input.
struct folders {
  explicit folders(const std::filesystem::path& root)
      : corpus(root / "corpus"),
        failing(root / "failing"),
        artifacts(root / "artifacts"),
        findings(root / "findings"),
        logs(root / "logs") {}
  std::filesystem::path corpus;     ///< inputs worth mutating
  std::filesystem::path failing;    ///< corpus entries that fail, out of the way of processes that start
  std::filesystem::path artifacts;  ///< inputs that ended a process and were not looked into yet
  std::filesystem::path findings;   ///< what came of them, and logs of processes that left no input
  std::filesystem::path logs;       ///< of each job's last process, and the targets' counters
};

/// One kind of failure.
struct finding {
  std::string name;  ///< of its file, without ending: the origin, and a fingerprint of the kind
  complaint is;      ///< of the minimized case, where there is one
  std::filesystem::path file;
  std::string replay;        ///< the line that shows it again; empty: no input is left
  std::string shape;         ///< the case, or a description of the bytes
  bool flaky = false;        ///< did not come again whenever it was repeated
  bool is_old = false;       ///< in a file of a campaign before
  bool passes = false;       ///< an old one, which does not fail any more
  int steps = 0;             ///< of the minimization
  std::int64_t alike = 1;    ///< inputs that failed like this
  double after_seconds = 0;  ///< since the start, when it was known
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
  std::vector<finding> findings;                 ///< in the order in which they came
  std::vector<growth> points;                    ///< a few, the last one at the end
  std::map<std::string, std::int64_t> counters;  ///< what the targets count, over all processes
  std::int64_t seeds = 0;                        ///< inputs made of cases
  std::int64_t seeds_outside = 0;                ///< inputs made of cases that are too long
  std::int64_t processes = 0;
  double seconds = 0;
  double process_seconds = 0;  ///< over all processes
  std::string ended_early;     ///< why, in one line; empty if the time was up
  std::int64_t unseen = 0;     ///< inputs that ended a process and wait to be looked into, for the next campaign
};

}  // namespace assay::campaign
