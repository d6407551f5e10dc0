/// Stand-in: see torch/all.h.
#pragma once

#include <torch/all.h>

int device_of(const torch::Tensor& tensor);

namespace at::cuda {
struct OptionalCUDAGuard {
  explicit OptionalCUDAGuard(int device);
};
}  // namespace at::cuda
