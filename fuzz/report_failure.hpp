/// Shared by all fuzz targets: the library under test, and how a failure ends the process.
#pragma once

#include <string>

#include "properties/run/kernel_library.hpp"
#include "properties/run/verdict.hpp"

namespace assay::fuzz {

/// The built-in kernels, or the shared object that the environment variable ASSAY_FUZZ_LIBRARY names. ASSAY_FUZZ_CHECKS
/// may be "none" (loads and stores are not checked) or "lockstep_waves" (every instruction orders the lanes of a wave).
/// If the library cannot be loaded or ASSAY_FUZZ_CHECKS has another value, the process exits with status 3.
const library& under_test();

/// Names the input that runs next, as text (a case's JSON). It is printed after every failure, also by signal handlers.
void announce(std::string input);

/// While it lives, what is reported begins with this library's platform ("nvidia: o[0] = ..."), also by signal
/// handlers. Where two libraries judge each case.
class running_on {
 public:
  explicit running_on(const library& lib);
  ~running_on();
  running_on(const running_on&) = delete;
  running_on& operator=(const running_on&) = delete;
};

/// Prints "assay finding: <origin>: <what>" and the announced input to stderr, writes the counters' hits, and aborts.
[[noreturn]] void report(const std::string& origin, const std::string& what);

/// Reports the verdict if it is a failure.
void expect_no_failure(const verdict& v);

}  // namespace assay::fuzz
