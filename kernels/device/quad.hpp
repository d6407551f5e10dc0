/// Four lanes side by side, the first a multiple of four: those that share a row of sums (device/warpgroup.hpp). By all
/// lanes of the wave.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/platform/current.hpp"

namespace assay::device {

/// Joins a value over the quad; join(x, y) is the same as join(y, x).
template <class T, class Join>
__device__ __forceinline__ T join_quad(T value, Join join) {
  value = join(value, __shfl_xor(value, 1, 32));
  return join(value, __shfl_xor(value, 2, 32));
}

/// Word j of lane i of the quad becomes word i of lane j: blocks of half the size change places, then those within.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&word)[4]) {
  ASSAY_UNROLL
  for (int half = 1; half <= 2; half *= 2) {
    const bool is_upper = (threadIdx.x & static_cast<unsigned int>(half)) != 0;
    ASSAY_UNROLL
    for (int i = 0; i < 4; ++i) {
      if ((i & half) != 0) continue;
      std::uint32_t &low = word[i], &high = word[i + half];
      const std::uint32_t got = __shfl_xor(is_upper ? low : high, half, 32);
      low = is_upper ? got : low;
      high = is_upper ? high : got;
    }
  }
}

}  // namespace assay::device
