/// Atoms of heads and keys on NVIDIA's GPUs: see device/head_atoms.hpp. Keys are the rows, 16 of each wave, so that a
/// warpgroup multiplies 64 keys at once, and heads are the columns, eight an atom. Heads are widened to f16 on their
/// way to LDS, once a block; keys in registers.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/mma/head_tree.hpp"
#include "kernels/device/mma/nvidia_keys.hpp"
#include "kernels/device/mma/nvidia_warpgroup.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

inline constexpr int head_rows = narrow_columns;
inline constexpr bool multiplies_all_heads = true;
using head_sums = narrow_sums<float>;

/// `of_atom` is a multiple of 8 bytes.
__device__ inline void load_weights(head_sums& weights, const float* of_atom) {
  const float2 pair = *reinterpret_cast<const float2*>(of_atom + narrow_column(0));
  weights.value[0] = weights.value[2] = pair.x;
  weights.value[1] = weights.value[3] = pair.y;
}
/// Of the lane's two keys one: the other one is its neighbour's.
__device__ inline int own_key() {
  return narrow_row(mma_lane() % 2 * 2);
}

/// The two of a lane, then lanes 1 and 2 apart, which are two and four heads.
constexpr row_tree head_tree(int) {
  return {{1, 2, 4, 0}};
}

/// Codes as f16, in strips of 64 elements: rows of 128 bytes. In each atom's 16 elements their order is the one that
/// load_keys() has for FP8: element 4t + i of a chunk, which lane t holds, stands at 2t + i, and from i = 2 on at
/// 2t + 6 + i.
template <class T>
struct head_panel {
  unsigned char* base;
  int rows, head_dim;

  __device__ head_panel(unsigned char* at, int of_rows, int dim) : base(at), rows(of_rows), head_dim(dim) {}
  static int size_bytes(int rows, int head_dim) { return rows * swizzled_row_bytes(head_dim * 2); }
  /// Atom `step` of the reduction: two chunks of a strip, the first of which is 2 * (step % 4).
  __device__ swizzled_rows strip_of(int step) const {
    return {base + step / 4 * rows * swizzled_run_bytes, swizzled_run_bytes};
  }
  __device__ void store(int row, int chunk, uint4 codes) const {
    const unsigned int words[4] = {codes.x, codes.y, codes.z, codes.w};
    unsigned int low[4], high[4];
    ASSAY_UNROLL
    for (int i = 0; i < 4; ++i) widen_word<T>(low[i], high[i], words[i]);
    const swizzled_rows strip = strip_of(chunk);
    *reinterpret_cast<uint4*>(strip.chunk(row, chunk % 4 * 2)) = make_uint4(low[0], low[1], low[2], low[3]);
    *reinterpret_cast<uint4*>(strip.chunk(row, chunk % 4 * 2 + 1)) = make_uint4(high[0], high[1], high[2], high[3]);
  }
};

/// load_keys() of two steps, the first of which is even.
template <class T>
__device__ inline void load_two_steps(key_fragment<f16>& first, key_fragment<f16>& second, const swizzled_rows& keys,
                                      int step) {
  unsigned int words[4];  // rows lane / 4, and 8 further on, of one step and the next
  load_matrices(words, shared_number(keys, mma_lane() % 16, step + mma_lane() / 16));
  ASSAY_UNROLL
  for (int half = 0; half < 2; ++half) {
    widen_word<T>(first.word[half], first.word[half + 2], words[half]);
    widen_word<T>(second.word[half], second.word[half + 2], words[half + 2]);
  }
}

/// Each thread calls it between its last store() and the barrier behind which products are.
__device__ inline void publish_heads() {
  platform::publish_lds();
}

template <class T>
struct key_operand {
  key_fragment<f16> step[swizzled_run_bytes / atom_depth];
};

/// Of rows shorter than 128 bytes the rest is loaded, too, and not multiplied.
template <class T>
__device__ inline void load_operand(key_operand<T>& f, const swizzled_rows& keys, int) {
  ASSAY_UNROLL
  for (int step = 0; step < swizzled_run_bytes / atom_depth; step += 2)
    load_two_steps<T>(f.step[step], f.step[step + 1], keys, step);
}

template <class T, int Atoms, class Wanted>
__device__ __forceinline__ void begin_heads(head_sums (&dots)[Atoms], [[maybe_unused]] Wanted wanted,
                                            const head_panel<T>& panel, const key_operand<T>& keys,
                                            [[maybe_unused]] bool has_keys) {
  constexpr int most_steps = swizzled_run_bytes / atom_depth;
  const int steps = panel.head_dim / atom_depth;
#if defined(ASSAY_HAS_WARPGROUPS)
  const lds_operand heads = operand_by_rows(panel.base);
  const auto b_of = [&](int step) {
    return heads + step / 4 * panel.rows * swizzled_run_bytes + step % 4 * 2 * chunk_bytes;
  };
  start_warpgroup();
  if (steps == most_steps) {  // one straight piece
    begin_product(dots, keys.step[0], b_of(0));
    ASSAY_UNROLL
    for (int step = 1; step < most_steps; ++step) add_product(dots, keys.step[step], b_of(step));
  } else {
    begin_product(dots, keys.step[0], b_of(0));
    ASSAY_UNROLL
    for (int step = 1; step < most_steps; ++step) {
      if (step >= steps) continue;
      start_warpgroup();
      add_product(dots, keys.step[step], b_of(step));
    }
  }
  commit_warpgroup();
#else
  ASSAY_UNROLL
  for (int atom = 0; atom < Atoms; ++atom) dots[atom] = {};
  if (!has_keys) return;
  ASSAY_UNROLL
  for (int step = 0; step < most_steps; ++step) {
    if (step >= steps) continue;
    ASSAY_UNROLL
    for (int atom = 0; atom < Atoms; ++atom) {
      if (!wanted(atom)) continue;
      query_fragment<f16> b;
      load_queries<f16>(b, {panel.strip_of(step).base + atom * head_rows * swizzled_run_bytes, swizzled_run_bytes},
                        step % 4);
      multiply_narrow(dots[atom], keys.step[step], b);
    }
  }
#endif
}
template <int Atoms>
__device__ __forceinline__ void finish_heads([[maybe_unused]] head_sums (&dots)[Atoms]) {
#if defined(ASSAY_HAS_WARPGROUPS)
  wait_for_warpgroup(dots);
#endif
}

/// Four lanes hold four sums, of two keys and two rows, each in four parts. In each of two steps a lane keeps half of
/// its sums and adds the other lane's part of them, so that one is left to it.
template <int Rows, class Take>
__device__ inline void sum_heads(const head_sums (&rows)[Rows], int count, Take take) {
  const int lane = mma_lane();
  const auto exchange = [&](float kept, float given, int distance) { return kept + __shfl_xor(given, distance, 32); };
  ASSAY_UNROLL
  for (int row = 0; row < Rows; row += 2) {
    if (row >= count) continue;
    const bool is_odd = lane % 2 != 0, is_upper = lane % 4 >= 2;
    float of_key[2];
    ASSAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      const head_sums& tile = rows[row + i < Rows ? row + i : row];
      const float low = tile.value[0] + tile.value[1], high = tile.value[2] + tile.value[3];
      of_key[i] = exchange(is_odd ? high : low, is_odd ? low : high, 1);
    }
    const float sum = exchange(is_upper ? of_key[1] : of_key[0], is_upper ? of_key[0] : of_key[1], 2);
    const int own_row = row + (is_upper ? 1 : 0);
    if (own_row < count) take(own_row, sum);
  }
}

}  // namespace assay::device
