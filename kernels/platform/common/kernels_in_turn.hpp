/// The order of two kernels of a stream on platforms where each starts when the one before it is done.
#pragma once

#include <hip/hip_runtime.h>

/// Launches a kernel without dynamic LDS that may start early: see platform::await_kernel_before().
#define ASSAY_LAUNCH_BEHIND(kernel, grid, block, ...) \
  hipLaunchKernelGGL(kernel, grid, block, 0, ::assay::platform::stream(), __VA_ARGS__)

namespace assay::platform {

/// Lets the stream's next kernel start, once all blocks have come here, if it is launched by ASSAY_LAUNCH_BEHIND.
__device__ inline void start_next_kernel() {}
/// Waits until the stream's kernel before this one is done: then all of its stores are seen. Every block of a kernel
/// that is launched by ASSAY_LAUNCH_BEHIND calls it, before it returns or stores anything: so that its own end means
/// the end of the one before. What the kernels before it in such a row of launches do not store, it may read earlier.
__device__ inline void await_kernel_before() {}

}  // namespace assay::platform
