/// The library that judges each case after the one whose coverage guides the engine. A GPU's kernels show no edges, so
/// the cpu kernels choose its cases.
#pragma once

#include "properties/case/case.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay::fuzz {

/// The shared object that the environment variable ASSAY_FUZZ_BESIDE names; null without it. Its tensors may lie on a
/// device: that of the number ASSAY_FUZZ_JOB (default 0), in turn. The first call starts the driver, and may fork only
/// before that. If the library cannot be loaded, or driver or device are missing, the process exits with status 3.
const library* beside();

/// Runs the case on it with all its checks, and reports a failure with its platform. So is an error of the
/// device: the process ends, and with it the device's context.
void judge_beside(const attention_case& c);

}  // namespace assay::fuzz
