/// Tensors as kernels see them.
#pragma once

#include <cstdint>

#include "kernels/tensor.hpp"

namespace assay {

/// A tensor in a kernel's arguments; strides count elements. Optional tensors have null data.
struct device_tensor {
  void* data;
  std::int64_t stride[max_rank];
};

inline device_tensor to_device(const tensor& t) {
  device_tensor d{t.data, {}};
  for (int i = 0; i < max_rank; ++i) d.stride[i] = t.stride[i];
  return d;
}

}  // namespace assay
