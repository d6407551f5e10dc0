/// Atoms of heads and keys by warpgroups (device/warpgroup.hpp): see device/head_atoms.hpp. Keys are the rows, 16 of
/// each wave, so that a warpgroup multiplies 64 keys at once, and heads are the columns, eight an atom. Warpgroups
/// multiply codes that they know as they are. Of others heads are widened to f16 on their way to LDS, once a block, and
/// keys in registers; NVIDIA's GPUs without warpgroups lay all of that out alike (nvidia_heads.hpp).
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/contract.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/mma/head_tree.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/device/warpgroup.hpp"

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/nvidia_heads.hpp"
#endif

namespace assay::device {

/// What forms of it share.
class heads_in_columns {
 public:
  using sums = group_sums;
  static constexpr int atom_heads = group_columns;
  static constexpr bool multiplies_all = true;
  static constexpr bool takes_time = true;

  /// `of_atom` is a multiple of 8 bytes.
  __device__ static void load_weights(sums& weights, const float* of_atom) {
    const float2 pair = *reinterpret_cast<const float2*>(of_atom + group_column(0));
    weights.value[0] = weights.value[2] = pair.x;
    weights.value[1] = weights.value[3] = pair.y;
  }
  /// Of the lane's two keys one: the other one is its neighbour's.
  __device__ static int own_key() { return group_row(lane() % 2 * 2); }

  template <int Atoms>
  __device__ __forceinline__ static void finish([[maybe_unused]] sums (&dots)[Atoms]) {
#if defined(ASSAY_HAS_WARPGROUPS)
    wait_for_warpgroup(dots);
#endif
  }

  /// Four lanes hold four sums, of two keys and two rows, each in four parts. In each of two steps a lane keeps half of
  /// its sums and adds the other lane's part of them, so that one is left to it.
  template <int Rows, class Take>
  __device__ static void sum(const sums (&rows)[Rows], int count, Take take) {
    const auto exchange = [&](float kept, float given, int distance) { return kept + __shfl_xor(given, distance, 32); };
    ASSAY_UNROLL
    for (int row = 0; row < Rows; row += 2) {
      if (row >= count) continue;
      const bool is_odd = lane() % 2 != 0, is_upper = lane() % 4 >= 2;
      float of_key[2];
      ASSAY_UNROLL
      for (int i = 0; i < 2; ++i) {
        const sums& tile = rows[row + i < Rows ? row + i : row];
        const float low = tile.value[0] + tile.value[1], high = tile.value[2] + tile.value[3];
        of_key[i] = exchange(is_odd ? high : low, is_odd ? low : high, 1);
      }
      const float whole = exchange(is_upper ? of_key[1] : of_key[0], is_upper ? of_key[0] : of_key[1], 2);
      const int own_row = row + (is_upper ? 1 : 0);
      if (own_row < count) take(own_row, whole);
    }
  }

  /// The two of a lane, then lanes 1 and 2 apart, which are two and four heads.
  static constexpr row_tree tree(int) { return {{1, 2, 4, 0}}; }

 protected:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Columns up to the last atom that is wanted: there is nothing in the panel behind it.
  template <int Atoms, class Wanted>
  __device__ __forceinline__ static int columns_of(Wanted wanted) {
    int columns = 0;
    ASSAY_UNROLL
    for (int atom = 0; atom < Atoms; ++atom)
      if (wanted(atom)) columns = (atom + 1) * atom_heads;
    return columns;
  }
};

/// Multiplied as f16.
template <class T>
class heads_as_columns : public heads_in_columns {
  static constexpr int most_steps = swizzled_run_bytes / atom_depth;

 public:
  using stored = T;

  /// Codes as f16, in strips of 64 elements: rows of 128 bytes. In each atom's 16 elements their order is the one in
  /// which keys::load() has those of keys: element 4t + i of a chunk, which lane t holds, stands at 2t + i, and from
  /// i = 2 on at 2t + 6 + i.
  struct panel {
    unsigned char* base;
    int rows, head_dim;

    __device__ panel(unsigned char* at, int of_rows, int dim) : base(at), rows(of_rows), head_dim(dim) {}
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

  struct keys {
    group_operand<f16> step[most_steps];

    /// Whole rows of LDS, so that no load waits for a branch; the zeros behind a shorter key are not multiplied.
    __host__ __device__ static constexpr int row_bytes(int) { return swizzled_run_bytes; }
    __device__ void load(const swizzled_rows& from, int) {
      ASSAY_UNROLL
      for (int first = 0; first < most_steps; first += 2) {
        unsigned int words[4];  // rows lane / 4, and 8 further on, of one step and the next
        load_matrices(words, shared_number(from, lane() % 16, first + lane() / 16));
        ASSAY_UNROLL
        for (int i = 0; i < 4; ++i) {
          group_operand<f16>& f = step[first + i / 2];
          widen_word<T>(f.word[i % 2], f.word[i % 2 + 2], words[i]);
        }
      }
    }
  };

  template <int Atoms, class Wanted>
  __device__ __forceinline__ static void begin(sums (&dots)[Atoms], Wanted wanted, const panel& heads, const keys& k,
                                               [[maybe_unused]] bool has_keys) {
    const int steps = heads.head_dim / atom_depth;
#if defined(ASSAY_HAS_WARPGROUPS)
    const lds_operand b = operand_by_rows(heads.base);
    const int columns = columns_of<Atoms>(wanted);
    const auto multiply = [&](int count) {
      begin_product(dots, k.step[0], b, columns);
      ASSAY_UNROLL
      for (int step = 1; step < most_steps; ++step) {
        if (step >= count) continue;
        const int at = step / 4 * heads.rows * swizzled_run_bytes + step % 4 * 2 * chunk_bytes;
        add_product(dots, k.step[step], b + at, columns);
      }
      commit_warpgroup();  // here: behind a branch it were an instruction of its own, which waits for the unit
    };
    start_warpgroup();
    if (steps == most_steps)
      multiply(most_steps);  // one straight piece
    else
      multiply(steps);
#else
    multiply_heads<most_steps>(dots, wanted, heads, k.step, has_keys ? steps : 0);
#endif
  }

  static accumulation model() { return accumulation_model(dtype::f16); }
  static matrix_atom exact_atom(dtype) { return with_reordered_products(device::exact_atom(dtype::f16)); }
};

/// Multiplied as they are: codes of T, which the unit knows (group_element). Without warpgroups there are no products.
template <class T>
class code_heads_as_columns : public heads_in_columns {
  static constexpr int most_steps = swizzled_run_bytes / group_reduction_bytes;

 public:
  using stored = T;

  struct panel {
    swizzled_rows rows;
    int head_dim;

    __device__ panel(unsigned char* at, int, int dim) : rows{at, swizzled_run_bytes}, head_dim(dim) {}
    static int size_bytes(int rows, int) { return rows * swizzled_run_bytes; }
    __device__ void store(int row, int chunk, uint4 codes) const {
      *reinterpret_cast<uint4*>(rows.chunk(row, chunk)) = codes;
    }
  };

  struct keys {
    group_operand<T> step[most_steps];

    /// As heads_as_columns's.
    __host__ __device__ static constexpr int row_bytes(int) { return swizzled_run_bytes; }
    __device__ void load(const swizzled_rows& from, int) {
      ASSAY_UNROLL
      for (int i = 0; i < most_steps; ++i)  // rows lane / 4, and 8 further on, of one chunk and the next
        load_matrices(step[i].word, shared_number(from, lane() % 16, 2 * i + lane() / 16));
    }
  };

  template <int Atoms, class Wanted>
  __device__ __forceinline__ static void begin([[maybe_unused]] sums (&dots)[Atoms], [[maybe_unused]] Wanted wanted,
                                               [[maybe_unused]] const panel& heads, [[maybe_unused]] const keys& k,
                                               bool /*has_keys*/) {
#if defined(ASSAY_HAS_WARPGROUPS)
    const int steps = heads.head_dim / group_reduction_bytes, columns = columns_of<Atoms>(wanted);
    const lds_operand b = operand_by_rows(heads.rows.base);
    const auto multiply = [&](int count) {
      begin_product(dots, k.step[0], b, columns);
      ASSAY_UNROLL
      for (int step = 1; step < most_steps; ++step)
        if (step < count) add_product(dots, k.step[step], b + step * group_reduction_bytes, columns);
      commit_warpgroup();  // as in heads_as_columns
    };
    start_warpgroup();
    if (steps == most_steps)
      multiply(most_steps);  // one straight piece
    else
      multiply(steps);
#elif defined(__CUDA_ARCH__)
    __trap();  // not launched there
#endif
  }

  static accumulation model() { return group_fp8_accumulation_model(); }
  static matrix_atom exact_atom(dtype type) { return exact_group_fp8_atom(type); }
};

}  // namespace assay::device
