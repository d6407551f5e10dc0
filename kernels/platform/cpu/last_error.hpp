/// The calling OS thread's HIP error state.
#pragma once

#include "kernels/platform/cpu/hip/runtime_api.h"

namespace assay::cpu {

/// What hipGetLastError returns next.
void set_last_error(hipError_t error);

}  // namespace assay::cpu
