/// Atoms of heads and keys where the unit's atom is square: see device/head_atoms.hpp. This is the form of AMD, and of
/// the cpu platform where no warpgroup multiplies. Heads are the rows: a lane has several of them, of one key.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/mma/head_tree.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

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
class heads_as_rows {
  static constexpr int most_steps = swizzled_run_bytes / byte_atom_depth;

 public:
  using stored = T;
  using sums = accumulator<float>;
  static constexpr int atom_heads = atom_rows;
  static constexpr bool multiplies_all = false;
  static constexpr bool takes_time = false;

  /// Codes as they are.
  struct panel {
    swizzled_rows rows;
    int head_dim;

    __device__ panel(unsigned char* base, int, int dim) : rows{base, swizzled_row_bytes(dim)}, head_dim(dim) {}
    static int size_bytes(int rows, int head_dim) { return rows * swizzled_row_bytes(head_dim); }
    __device__ void store(int row, int chunk, uint4 codes) const {
      *reinterpret_cast<uint4*>(rows.chunk(row, chunk)) = codes;
    }
  };

  struct keys {
    fp8_fragment step[most_steps];

    __host__ __device__ static constexpr int row_bytes(int head_dim) { return head_dim; }
    __device__ void load(const swizzled_rows& from, int head_dim) {
      ASSAY_UNROLL
      for (int i = 0; i < most_steps; ++i)
        if (i < head_dim / byte_atom_depth) load_words(step[i], from, 0, i);
    }
  };

  __device__ static void load_weights(sums& weights, const float* of_atom) {
    ASSAY_UNROLL
    for (int i = 0; i < weights.count(); ++i) weights.value[i] = of_atom[c_row(i)];
  }
  __device__ static int own_key() { return c_column(0); }

  template <int Atoms, class Wanted>
  __device__ static void begin(sums (&dots)[Atoms], Wanted wanted, const panel& heads, const keys& k, bool has_keys) {
    if (!has_keys) return;
    mma_rows<T, most_steps>(
        dots, wanted, heads.head_dim / byte_atom_depth,
        [&](int atom, int step, fp8_fragment& f) { load_words(f, heads.rows, atom * atom_heads, step); },
        [&](int step, fp8_fragment& f) { f = k.step[step]; });
  }
  template <int Atoms>
  __device__ static void finish(sums (&)[Atoms]) {}

  template <int Rows, class Take>
  __device__ static void sum(const sums (&rows)[Rows], int count, Take take) {
    ASSAY_UNROLL
    for (int row = 0; row < Rows; ++row) {
      if (row >= count) continue;
      const float of_key = sum(rows[row]);
      if (static_cast<int>(threadIdx.x) % wave_lanes() < key_stride) take(row, of_key);
    }
  }

  /// Halves of what a lane holds, then lanes of ever larger distance; c_row says which rows these are. MFMA's are those
  /// of the cpu platform; a lane of RDNA3's WMMA holds every second row, and RDNA4's sum is RDNA3's.
  static constexpr row_tree tree([[maybe_unused]] int wave_size) {
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
    return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{4, 2, 1, 8}};
#else
    return wave_size == 64 ? row_tree{{2, 1, 4, 8}} : row_tree{{8, 4, 2, 1}};
#endif
  }
  static accumulation model() { return fp8_accumulation_model(); }
  static matrix_atom exact_atom(dtype type) { return exact_fp8_atom(type); }

 private:
  /// Lanes that far apart share keys.
  static constexpr int key_stride = 16;

  /// The whole wave must come here.
  __device__ static float sum(const sums& tile) {
    float part[sizeof tile.value / sizeof(float)];
    ASSAY_UNROLL
    for (int i = 0; i < tile.count(); ++i) part[i] = tile.value[i];
#if defined(__GFX12__)
    // A lane holds 8 rows in order, so rows 8 apart are those of lanes 16 apart. They come first, as on RDNA3: a
    // contract knows the wave's size, not the GPU.
    ASSAY_UNROLL
    for (float& row : part) row += __shfl_xor(row, key_stride, wave_lanes());
#endif
    ASSAY_UNROLL
    for (int width = tile.count() / 2; width > 0; width /= 2) ASSAY_UNROLL
    for (int i = 0; i < width; ++i) part[i] += part[i + width];
    float whole = part[0];
#if !defined(__GFX12__)
    for (int distance = key_stride; distance < wave_lanes(); distance *= 2)
      whole += __shfl_xor(whole, distance, wave_lanes());
#endif
    return whole;
  }
};

}  // namespace assay::device
