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

/// Whether the rows of all pages, slots and heads of a pool begin, and end, at multiples of 16 bytes.
inline bool has_whole_vectors(const tensor& t) {
  const auto is_whole = [&](std::int64_t elements) { return elements * size_bytes(t.type) % 16 == 0; };
  return reinterpret_cast<std::uintptr_t>(t.data) % 16 == 0 && is_whole(t.stride[0]) && is_whole(t.stride[1]) &&
         is_whole(t.stride[2]) && is_whole(t.shape[3]);
}

}  // namespace assay
