/// Stand-in: see torch/all.h.
#pragma once

#include <hip/hip_runtime.h>

using cudaStream_t = hipStream_t;

namespace at::cuda {
cudaStream_t getCurrentCUDAStream();
}  // namespace at::cuda
