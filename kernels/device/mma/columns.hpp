/// Sums over the 16 rows of an accumulator tile, column by column: within a lane, then over the lanes that share its
/// columns.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/mma.hpp"

namespace assay::device {

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
inline constexpr int column_slots = 4;   ///< columns in which a lane has elements
inline constexpr int column_stride = 4;  ///< lanes that far apart share columns
#else
inline constexpr int column_slots = 1;
inline constexpr int column_stride = 16;
#endif

/// Additions that an element passes through on its way into the sum of its column: a binary tree over 16 rows.
inline constexpr int column_sum_roundings = 4;

/// Strides of rows in the order in which sum_columns joins them: halves of what a lane holds, then lanes of ever larger
/// distance. Each platform's c_row says which rows these are.
struct row_tree {
  int stride[column_sum_roundings];
};
constexpr row_tree column_tree([[maybe_unused]] int wave_size) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  return {{8, 1, 2, 4}};
#elif defined(__HIP_PLATFORM_ASSAY_CPU__)
  return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{4, 2, 1, 8}};
#else  // MFMA's rows are those of the cpu platform; a lane of RDNA3's WMMA holds every second row. RDNA4's sum is
       // RDNA3's
  return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{8, 4, 2, 1}};
#endif
}

/// Of the tile.
__device__ inline int column_of(int slot) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  return c_column(slot % 2 + 4 * (slot / 2));
#else
  return c_column(slot);
#endif
}

/// Whether this lane is the first of those that hold its columns' sums.
__device__ inline bool leads_columns() {
  return static_cast<int>(threadIdx.x) % wave_lanes() < column_stride;
}

/// sums[slot] = sum of column `column_of(slot)`, in all lanes that share it. The whole wave must come here.
__device__ inline void sum_columns(const accumulator<float>& tile, float (&sums)[column_slots]) {
  float part[sizeof tile.value / sizeof(float)];
  ASSAY_UNROLL
  for (int i = 0; i < tile.count(); ++i) part[i] = tile.value[i];
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  ASSAY_UNROLL
  for (int slot = 0; slot < column_slots; ++slot) {
    const int upper = slot % 2 + 4 * (slot / 2);
    sums[slot] = part[upper] + part[upper + 2];
  }
#else
#if defined(__GFX12__)
  // A lane holds 8 rows in order, so rows 8 apart are those of lanes 16 apart. They come first, as on RDNA3: a contract
  // knows the wave's size, not the GPU.
  ASSAY_UNROLL
  for (float& row : part) row += __shfl_xor(row, column_stride, wave_lanes());
#endif
  ASSAY_UNROLL
  for (int width = tile.count() / 2; width > 0; width /= 2) ASSAY_UNROLL
  for (int i = 0; i < width; ++i) part[i] += part[i + width];
  sums[0] = part[0];
#endif
#if !defined(__GFX12__)
  ASSAY_UNROLL
  for (float& sum : sums)
    for (int distance = column_stride; distance < wave_lanes(); distance *= 2)
      sum += __shfl_xor(sum, distance, wave_lanes());
#endif
}

}  // namespace assay::device
