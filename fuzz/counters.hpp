/// What the engine gets to see beside the edges of our own code: libFuzzer's extra counters, one byte for each edge of
/// the kernels and for each feature of a run. libFuzzer clears them before each run and tells 1, 2, 3, 4-7, 8-15,
/// 16-31, 32-127 and 128-255 apart.
#pragma once

#include "properties/run/execute.hpp"

namespace assay::fuzz {

/// Clears the kernels' edge flags. Before each run of a library.
void clear_edges(const library& lib);

/// Hands the edges that ran since to the engine. A process has one library.
void count_edges(const library& lib);

/// Counts a run by what came of it. Once for each run that says anything about a library.
void count_run(outcome came);

/// Hands the features of a run to the engine and adds them up.
void count_features_of(const attention_case& c, const detailed_run& run);

/// Writes "name hits" lines: the runs of this process, of them those that were decided (passed or failed), discarded
/// and left undecided, as "most_barrier_conflicts" the pairs of places that barriers ordered in any run, if the library
/// tells them (conflict_flags.hpp), and a line for each feature, the runs that had it, if features were counted. They
/// replace the file that the environment variable ASSAY_FUZZ_COUNTERS names, which is the process's own: at exit, at a
/// finding, and now and then before, since a process that is killed says nothing any more. Without the variable they go
/// to stderr, once. Async-signal-safe.
void write_hits();

}  // namespace assay::fuzz
