/// For code of the platform that is compiled together with kernels, but is not theirs: its accesses are not checked.
#pragma once

#include "kernels/platform/cpu/base/sanitizers.hpp"

/// Of a function. A function without a sanitizer does not inline one that has it, unless that must be inlined.
#if ASSAY_ASAN || ASSAY_TSAN  // of the build: they check the platform, too
#define ASSAY_NOT_CHECKED __attribute__((no_sanitize("coverage")))
#define ASSAY_NOT_INSTRUMENTED ASSAY_NOT_CHECKED
#else
#define ASSAY_NOT_CHECKED __attribute__((no_sanitize("coverage", "address", "alignment", "bounds")))
/// The same, and its atomics call no one back.
#define ASSAY_NOT_INSTRUMENTED __attribute__((no_sanitize("coverage"), disable_sanitizer_instrumentation))
#endif

/// Of all functions from here to `#pragma clang attribute pop`. It is no #pragma, where a macro would be lost: sources
/// that assay_hip compiles are preprocessed before pragmas are read.
#define ASSAY_BEGIN_NOT_CHECKED ASSAY_PRAGMA(clang attribute push(ASSAY_NOT_CHECKED, apply_to = function))
#define ASSAY_PRAGMA(...) ASSAY_PRAGMA_OF(__VA_ARGS__)  // after macros
#define ASSAY_PRAGMA_OF(...) _Pragma(#__VA_ARGS__)
