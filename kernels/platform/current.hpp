/// The one place that knows for which platform this file is being compiled. Defines for it, in assay::platform:
/// `name`, `device_type` (DLPack), exp2, exp, log and tanh with their declared errors, `wave_fence`, `launch_guard`,
/// and what the planner wants to know of the device.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP_PLATFORM_ASSAY_CPU__)
#include "kernels/platform/cpu/device.hpp"
#elif defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/platform/nvidia/device.hpp"
#else
#include "kernels/platform/amd/device.hpp"
#endif
