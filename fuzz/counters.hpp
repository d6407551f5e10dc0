/// What the engine sees beside the edges of our own code: libFuzzer's extra counters, one byte for each edge of the
/// kernels and for each feature of a run. libFuzzer clears them before each run and distinguishes 1, 2, 3, 4-7, 8-15,
/// 16-31, 32-127 and 128-255.
#pragma once

#include <chrono>

#include "properties/run/execute.hpp"

namespace assay::fuzz {

/// Clears the kernels' edge flags. Before each run of a library.
void clear_edges(const library& lib);

/// Passes the edges that ran since clear_edges() to the engine. A process has one library.
void count_edges(const library& lib);

/// Counts a run by its outcome. Call it once for each run that tests a library.
void count_run(outcome result);

/// Where two libraries judge each case: counts a run of one of them, and its time.
void count_side(const library& lib, outcome result, std::chrono::duration<double> took);

/// Passes the features of a run to the engine and adds them up.
void count_features_of(const attention_case& c, const detailed_run& run);

/// Writes lines "name hits":
/// - "runs", "decided" (passed or failed), "discarded", "undecided": runs of this process;
/// - "most_barrier_conflicts": pairs of places that barriers ordered in any run, if the library counts them
///   (conflict_flags.hpp);
/// - "PLATFORM:runs", ":decided", ":discarded", ":undecided", ":microseconds" of each library that count_side() saw;
/// - a line for each feature: the runs that had it, if features were counted.
/// They replace the file that the environment variable ASSAY_FUZZ_COUNTERS names: at exit, at a failure, and now and
/// then in between, for processes that are killed. Each process needs a file of its own. Without the variable they go
/// to stderr, once. Async-signal-safe.
void write_hits();

}  // namespace assay::fuzz
