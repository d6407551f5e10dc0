/// FP8 atoms of NVIDIA: elements are widened to f16, exactly, and multiplied by two f16 atoms of depth 16. The FP8
/// atoms of Ada and Hopper are too coarse: they accumulate with 13 bits of fraction (MMA-Sim, arXiv 2511.10909), fewer
/// than P V over a few hundred keys needs. Warpgroups take Hopper's for dot products (device/warpgroup.hpp).
#pragma once

#include "kernels/device/mma/fp8_words.hpp"
#include "kernels/device/mma/nvidia.hpp"

namespace assay::device {

using fp8_fragment = byte_fragment<4>;

__host__ __device__ constexpr int fragment_words() {
  return 4;
}
inline constexpr int adjacent_words = 1;

/// Words 0 and 1 belong to the first f16 atom, rows (or columns) 8 apart, 2 and 3 to the second. A lane holds four
/// consecutive k where the f16 atom's lane holds 2t, 2t+1, 2t+8, 2t+9: a permutation within the atom, alike for A and
/// B.
__device__ inline word_place word_coordinate(int i) {
  const int lane = mma_lane();
  return {lane / 4 + 8 * (i % 2), 16 * (i / 2) + lane % 4 * 4};
}

__device__ inline std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

/// The two lower bytes of a word as a pair of f16, exactly; by the hardware's conversion where there is one.
template <class T>
__device__ inline std::uint32_t widened_pair(std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  if constexpr (std::is_same_v<T, e4m3fn>) {
    std::uint32_t pair;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, low;}" : "=r"(pair) : "r"(bytes));
    return pair;
  }
#endif
  return widen_pair<T>(bytes, 0, multiply_pair);
}

/// All four bytes.
template <class T>
__device__ inline void widen_word(std::uint32_t& low, std::uint32_t& high, std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  if constexpr (std::is_same_v<T, e4m3fn>) {
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %2; cvt.rn.f16x2.e4m3x2 %0, a; cvt.rn.f16x2.e4m3x2 %1, b;}"
        : "=r"(low), "=r"(high)
        : "r"(bytes));
    return;
  }
#endif
  low = widened_pair<T>(bytes), high = widened_pair<T>(bytes >> 16);
}

/// A fragment in f16: pair i of word w at 2 * w + i.
struct wide_fragment {
  unsigned int pair[8];
};
template <class T>
__device__ inline wide_fragment widen(const fp8_fragment& from) {
  wide_fragment to;
#pragma unroll
  for (int i = 0; i < 8; ++i) to.pair[i] = widened_pair<T>(from.word[i / 2] >> (i % 2 * 16));
  return to;
}

__device__ inline void multiply_wide(accumulator<float>& c, const wide_fragment& a, const wide_fragment& b) {
#pragma unroll
  for (int first = 0; first < 8; first += 4) {  // of one f16 atom and the next
    const unsigned int rows[4] = {a.pair[first], a.pair[first + 2], a.pair[first + 1], a.pair[first + 3]};
    mma_half(c.value, rows, b.pair + first, f16{});
    mma_half(c.value + 4, rows, b.pair + first + 2, f16{});
  }
}

template <class T, int MaxSteps, int MaxRows, class Wanted, class LoadA, class LoadB>
__device__ inline void mma_rows(accumulator<float> (&c)[MaxRows], Wanted wanted, int steps, LoadA load_a_step,
                                LoadB load_b_step) {
#pragma unroll
  for (int i = 0; i < MaxSteps; ++i) {
    if (i >= steps) break;
    fp8_fragment b;
    load_b_step(i, b);
    const wide_fragment wide_b = widen<T>(b);
#pragma unroll
    for (int n = 0; n < MaxRows; ++n) {
      if (!wanted(n)) continue;
      fp8_fragment a;
      load_a_step(n, i, a);
      multiply_wide(c[n], widen<T>(a), wide_b);
    }
  }
}

/// The f16 atom's own model: an atom here is two of them, one after the other, in ascending k.
inline accumulation fp8_accumulation_model() {
  return accumulation_model(dtype::f16);
}
inline matrix_atom exact_fp8_atom(dtype) {
  return with_reordered_products(exact_atom(dtype::f16));
}

}  // namespace assay::device
