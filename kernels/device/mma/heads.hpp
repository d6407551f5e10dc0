/// Atoms of heads and keys where the unit's atom is square: see device/head_atoms.hpp. This is the form of the cpu
/// platform and of AMD. Heads are the rows: a lane has several of them, of one key.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/mma.hpp"
#include "kernels/device/mma/head_tree.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

inline constexpr int head_rows = atom_rows;
inline constexpr bool multiplies_all_heads = false;
using head_sums = accumulator<float>;

__device__ inline void load_weights(head_sums& weights, const float* of_atom) {
  ASSAY_UNROLL
  for (int i = 0; i < weights.count(); ++i) weights.value[i] = of_atom[c_row(i)];
}
__device__ inline int own_key() {
  return c_column(0);
}

/// Halves of what a lane holds, then lanes of ever larger distance; c_row says which rows these are. MFMA's are those
/// of the cpu platform; a lane of RDNA3's WMMA holds every second row, and RDNA4's sum is RDNA3's.
constexpr row_tree head_tree([[maybe_unused]] int wave_size) {
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
  return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{4, 2, 1, 8}};
#else
  return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{8, 4, 2, 1}};
#endif
}

/// Codes as they are.
template <class T>
struct head_panel {
  swizzled_rows rows;
  int head_dim;

  __device__ head_panel(unsigned char* base, int, int dim) : rows{base, swizzled_row_bytes(dim)}, head_dim(dim) {}
  static int size_bytes(int rows, int head_dim) { return rows * swizzled_row_bytes(head_dim); }
  __device__ void store(int row, int chunk, uint4 codes) const {
    *reinterpret_cast<uint4*>(rows.chunk(row, chunk)) = codes;
  }
};

__device__ inline void publish_heads() {}

/// FP8's A[row][k] or B[k][column], rows or columns being those from `first` on.
template <class Fragment>
__device__ inline void load_words(Fragment& f, const swizzled_rows& from, int first, int step) {
  ASSAY_UNROLL
  for (int i = 0; i < fragment_words(); i += adjacent_words) {
    const word_place at = word_coordinate(i);
    load_adjacent<adjacent_words>(
        f.word + i, reinterpret_cast<const std::uint32_t*>(from.at(first + at.outer, step * byte_atom_depth + at.k)));
  }
}

template <class T>
struct key_operand {
  fp8_fragment step[swizzled_run_bytes / byte_atom_depth];
};

template <class T>
__device__ inline void load_operand(key_operand<T>& f, const swizzled_rows& keys, int head_dim) {
  ASSAY_UNROLL
  for (int step = 0; step < swizzled_run_bytes / byte_atom_depth; ++step)
    if (step < head_dim / byte_atom_depth) load_words(f.step[step], keys, 0, step);
}

template <class T, int Atoms, class Wanted>
__device__ inline void begin_heads(head_sums (&dots)[Atoms], Wanted wanted, const head_panel<T>& panel,
                                   const key_operand<T>& keys, bool has_keys) {
  if (!has_keys) return;
  mma_rows<T, swizzled_run_bytes / byte_atom_depth>(
      dots, wanted, panel.head_dim / byte_atom_depth,
      [&](int atom, int step, fp8_fragment& f) { load_words(f, panel.rows, atom * head_rows, step); },
      [&](int step, fp8_fragment& f) { f = keys.step[step]; });
}
template <int Atoms>
__device__ inline void finish_heads(head_sums (&)[Atoms]) {}

/// Lanes that far apart share keys.
inline constexpr int key_stride = 16;

/// The whole wave must come here.
__device__ inline float sum_heads(const head_sums& tile) {
  float part[sizeof tile.value / sizeof(float)];
  ASSAY_UNROLL
  for (int i = 0; i < tile.count(); ++i) part[i] = tile.value[i];
#if defined(__GFX12__)
  // A lane holds 8 rows in order, so rows 8 apart are those of lanes 16 apart. They come first, as on RDNA3: a contract
  // knows the wave's size, not the GPU.
  ASSAY_UNROLL
  for (float& row : part) row += __shfl_xor(row, key_stride, wave_lanes());
#endif
  ASSAY_UNROLL
  for (int width = tile.count() / 2; width > 0; width /= 2) ASSAY_UNROLL
  for (int i = 0; i < width; ++i) part[i] += part[i + width];
  float sum = part[0];
#if !defined(__GFX12__)
  for (int distance = key_stride; distance < wave_lanes(); distance *= 2)
    sum += __shfl_xor(sum, distance, wave_lanes());
#endif
  return sum;
}

template <int Rows, class Take>
__device__ inline void sum_heads(const head_sums (&rows)[Rows], int count, Take take) {
  ASSAY_UNROLL
  for (int row = 0; row < Rows; ++row) {
    if (row >= count) continue;
    const float sum = sum_heads(rows[row]);
    if (static_cast<int>(threadIdx.x) % wave_lanes() < key_stride) take(row, sum);
  }
}

}  // namespace assay::device
