/// FP8 atoms of AMD: v_mfma_f32_16x16x32_fp8_fp8 where the unit has the format (FNUZ on gfx942, OCP on gfx950).
/// Elsewhere elements are widened to f16, exactly, and two f16 atoms of depth 16 take their place. Which k goes to
/// which of the two does not matter to the sum, as long as A and B agree.
#pragma once

#include "kernels/device/mma/amd.hpp"
#include "kernels/device/mma/fp8_words.hpp"

namespace assay::device {

#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
template <class T>
inline constexpr bool has_fp8_atom = std::is_same_v<T, e4m3fnuz>;
#elif defined(__gfx950__)
template <class T>
inline constexpr bool has_fp8_atom = std::is_same_v<T, e4m3fn>;
#else
template <class T>
inline constexpr bool has_fp8_atom = false;
#endif

/// 16 rows of 32 bytes over 64 or 32 lanes; in RDNA3's WMMA each half of the lanes holds them all.
inline constexpr int words_per_fragment = fragment_elements / 2;
using fp8_fragment = byte_fragment<words_per_fragment>;

__host__ __device__ constexpr int fragment_words() {
  return words_per_fragment;
}
inline constexpr int adjacent_words = 2;

__device__ inline word_place word_coordinate(int i) {
  const int lane = mma_lane();
  return {lane % 16, (holds_twice ? 0 : lane / 16 * 4 * words_per_fragment) + 4 * i};
}

__device__ inline std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b) {
  using half2 = lanes_of<_Float16, 2>;
  return __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(half2, a) * __builtin_bit_cast(half2, b));
}

/// The words of half `half` of the fragment as an f16 fragment.
template <class T>
__device__ inline fragment<f16> widen(const fp8_fragment& from, int half) {
  struct {
    std::uint32_t pair[fragment_elements / 2];
  } to;
#pragma unroll
  for (int i = 0; i < fragment_elements / 2; ++i)
    to.pair[i] = widen_pair<T>(from.word[half * words_per_fragment / 2 + i / 2], i % 2 * 2, multiply_pair);
  return __builtin_bit_cast(fragment<f16>, to);
}

/// An operand as the unit multiplies it: codes where it has an atom of them, else two of f16.
template <class T>
struct unit_operand {
  fp8_fragment codes;
  fragment<f16> wide[2];

  __device__ void take(const fp8_fragment& from) {
    if constexpr (has_fp8_atom<T>)
      codes = from;
    else
      wide[0] = widen<T>(from, 0), wide[1] = widen<T>(from, 1);
  }
};

template <class T>
__device__ inline void multiply_bytes(accumulator<float>& c, const unit_operand<T>& a, const unit_operand<T>& b) {
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
  if constexpr (has_fp8_atom<T>) {
    const auto joined =
        __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(__builtin_bit_cast(long, a.codes), __builtin_bit_cast(long, b.codes),
                                                   __builtin_bit_cast(lanes_of<float, 4>, c), 0, 0, 0);
    c = __builtin_bit_cast(accumulator<float>, joined);
    return;
  }
#endif
  mma(c, a.wide[0], b.wide[0]);
  mma(c, a.wide[1], b.wide[1]);
}

/// One piece without branches where all rows are wanted and all steps are there: then the compiler overlaps the loads,
/// for which RDNA's waves have too few registers.
template <class T, int MaxSteps, int MaxRows, class Wanted, class LoadA, class LoadB>
__device__ inline void mma_rows(accumulator<float> (&c)[MaxRows], Wanted wanted, int steps, LoadA load_a_step,
                                LoadB load_b_step) {
  const auto load = [](const auto& load_codes) {
    fp8_fragment codes;
    load_codes(codes);
    unit_operand<T> operand;
    operand.take(codes);
    return operand;
  };
  const auto multiply = [&](int step, const auto& leaves_out) {
    const unit_operand<T> b = load([&](fp8_fragment& f) { load_b_step(step, f); });
#pragma unroll
    for (int n = 0; n < MaxRows; ++n) {
      if (leaves_out(n)) continue;
      multiply_bytes<T>(c[n], load([&](fp8_fragment& f) { load_a_step(n, step, f); }), b);
    }
  };
  bool is_whole = !platform::has_few_registers && steps == MaxSteps;
#pragma unroll
  for (int n = 0; n < MaxRows; ++n) is_whole = is_whole && wanted(n);
  if (is_whole) {
#pragma unroll
    for (int step = 0; step < MaxSteps; ++step) multiply(step, [](int) { return false; });
    return;
  }
#pragma unroll
  for (int step = 0; step < MaxSteps; ++step) {
    if (step >= steps) break;
    multiply(step, [&](int n) { return !wanted(n); });
  }
}

/// One bound for all paths of an atom of 32, since the host does not know the device at compile time. With E = e_max of
/// the atom, all products and c are below 2^(E+1), and so the sum of j products and c is below (j + 1) 2^(E+1).
/// - CDNA3's and CDNA4's own atom: two groups of 16, truncated at 24 bits below their largest, with a floor. Each is
///   off by 18 units of 2^-24 of its e_max, which is E and (17 * 2 < 2^6) at most E + 5, with one rounding between
///   them: 18 + 18 * 32 + 34.
/// - f16 atoms of CDNA3: four groups of 8, 10 units each, their e_max at most E + 0, 4, 5, 5, roundings between them of
///   sums below 18, 34 and 50: 10 * (1 + 16 + 32 + 32) + 102.
/// - f16 atoms of CDNA2: 8 groups of 4, each of 4 roundings of sums below (4 g + 1) 2^(E+1): 8 * (4 * 36 + 8) = 1216.
/// - f16 atoms of RDNA: a model is not published. Taken as 32 multiply-adds one after the other, each off by an ulp,
///   2^-23, of a sum below (j + 1) 2^(E+1): 4 * sum of (j + 1) for j = 1..32 = 4 * 560 = 2240.
inline accumulation fp8_accumulation_model() {
  return {32, 24, 2240.0F, 0x1p-23F, 0x1p-126F};
}
inline matrix_atom exact_fp8_atom(dtype) {
  return {};
}

}  // namespace assay::device
