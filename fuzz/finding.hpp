/// What all fuzz targets share: the library under test, and how a finding ends the process.
#pragma once

#include <string>

#include "properties/run/library.hpp"
#include "properties/run/verdict.hpp"

namespace assay::fuzz {

/// The built-in kernels, or the shared object that the environment variable ASSAY_FUZZ_LIBRARY names. ASSAY_FUZZ_CHECKS
/// is "none" where loads and stores are not to be checked, "lockstep_waves" where every instruction is to order the
/// lanes of a wave. Where the library cannot be loaded, or the checks are other words, the process ends with exit
/// status 3.
const library& under_test();

/// Says what runs from now on, as text (a case's JSON): it is printed after a finding, one that a signal handler has to
/// tell included.
void announce(std::string input);

/// Prints "assay finding: <origin>: <what>" and what was announced to stderr, writes the counters' hits, and aborts.
[[noreturn]] void report(const std::string& origin, const std::string& what);

/// Reports a verdict that is a failure.
void expect_no_failure(const verdict& v);

}  // namespace assay::fuzz
