/// Matrix atoms of AMD: MFMA 16x16x16 on CDNA (gfx90a, gfx942, gfx950; waves of 64), and WMMA 16x16x16 on RDNA3
/// (gfx1100) and RDNA4 (gfx1201; waves of 32). Layouts: AMD's matrix instruction calculator; tests/kernels/platform/cpu
/// has those of the cpu platform's builtins of the same names.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/mma/gpu_loops.hpp"

namespace assay::device {

#if defined(__GFX11__)
#define ASSAY_WMMA 11
inline constexpr int largest_wave = 32;
#elif defined(__GFX12__)
#define ASSAY_WMMA 12
inline constexpr int largest_wave = 32;
#elif defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
#error "the amd platform has no matrix atoms for this GPU: gfx9 with MFMA, gfx11 and gfx12 have"
#else
// CDNA, and the host's pass, which only reads the sizes' declarations.
#define ASSAY_WMMA 0
inline constexpr int largest_wave = 64;
#endif
inline constexpr int smallest_wave = largest_wave;

__host__ __device__ constexpr int wave_lanes() {
  return largest_wave;
}
__device__ inline int mma_lane() {
  return static_cast<int>(threadIdx.x) % wave_lanes();
}

/// Whether lanes 16 apart hold the same elements of A and B: a whole row or column.
inline constexpr bool holds_twice = ASSAY_WMMA == 11;
/// A lane's elements: 4 in MFMA, 8 in RDNA4's WMMA, 16 in RDNA3's.
inline constexpr int fragment_elements = 256 / largest_wave * (holds_twice ? 2 : 1);
inline constexpr int accumulator_elements = 256 / largest_wave;

inline constexpr int k_run = ASSAY_WMMA ? 8 : 4;

template <class T>
struct fragment {
  alignas(k_run * sizeof(T)) T value[fragment_elements];
  __device__ static constexpr int count() { return fragment_elements; }
};

template <class Acc>
struct accumulator {
  Acc value[accumulator_elements] = {};
  __device__ static constexpr int count() { return accumulator_elements; }
};

/// `outer` is the row of A or the column of B.
struct coordinate {
  int outer;
  int k;
};

__device__ inline coordinate a_coordinate(int i) {
  const int lane = mma_lane();
  return {lane % 16, holds_twice ? i : lane / 16 * k_run + i};
}
__device__ inline coordinate b_coordinate(int i) {
  return a_coordinate(i);
}
__device__ inline int c_row(int i) {
  const int lane = mma_lane();
  return ASSAY_WMMA == 11 ? 2 * i + lane / 16 : lane / 16 * accumulator_elements + i;
}
__device__ inline int c_column(int) {
  return mma_lane() % 16;
}

template <class T, int N>
using lanes_of = T __attribute__((ext_vector_type(N)));

#if ASSAY_WMMA
#if ASSAY_WMMA == 12
#define ASSAY_WMMA_BUILTIN(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#else
#define ASSAY_WMMA_BUILTIN(name) __builtin_amdgcn_wmma_##name##_w32
#endif
__device__ inline void mma(accumulator<float>& c, const fragment<f16>& a, const fragment<f16>& b) {
  using halves = lanes_of<_Float16, fragment_elements>;
  const auto sum = ASSAY_WMMA_BUILTIN(f32_16x16x16_f16)(__builtin_bit_cast(halves, a), __builtin_bit_cast(halves, b),
                                                        __builtin_bit_cast(lanes_of<float, 8>, c));
  c = __builtin_bit_cast(accumulator<float>, sum);
}
__device__ inline void mma(accumulator<float>& c, const fragment<bf16>& a, const fragment<bf16>& b) {
  using bits = lanes_of<short, fragment_elements>;
  const auto sum = ASSAY_WMMA_BUILTIN(f32_16x16x16_bf16)(__builtin_bit_cast(bits, a), __builtin_bit_cast(bits, b),
                                                         __builtin_bit_cast(lanes_of<float, 8>, c));
  c = __builtin_bit_cast(accumulator<float>, sum);
}
__device__ inline void mma(accumulator<std::int32_t>& c, const fragment<std::int8_t>& a,
                           const fragment<std::int8_t>& b) {
  using words = lanes_of<int, fragment_elements / 4>;
  const auto sum =
      ASSAY_WMMA_BUILTIN(i32_16x16x16_iu8)(true, __builtin_bit_cast(words, a), true, __builtin_bit_cast(words, b),
                                           __builtin_bit_cast(lanes_of<int, 8>, c), false);
  c = __builtin_bit_cast(accumulator<std::int32_t>, sum);
}
#elif defined(__GFX9__)
__device__ inline void mma(accumulator<float>& c, const fragment<f16>& a, const fragment<f16>& b) {
  using half4 = lanes_of<_Float16, 4>;
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(half4, a), __builtin_bit_cast(half4, b),
                                                         __builtin_bit_cast(lanes_of<float, 4>, c), 0, 0, 0);
  c = __builtin_bit_cast(accumulator<float>, sum);
}
__device__ inline void mma(accumulator<float>& c, const fragment<bf16>& a, const fragment<bf16>& b) {
  using bits4 = lanes_of<short, 4>;
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(bits4, a), __builtin_bit_cast(bits4, b),
                                                             __builtin_bit_cast(lanes_of<float, 4>, c), 0, 0, 0);
  c = __builtin_bit_cast(accumulator<float>, sum);
}
__device__ inline void mma(accumulator<std::int32_t>& c, const fragment<std::int8_t>& a,
                           const fragment<std::int8_t>& b) {
  const auto quad = __builtin_bit_cast(lanes_of<int, 4>, c);
#if defined(__gfx90a__)
  const auto sum =
      __builtin_amdgcn_mfma_i32_16x16x16i8(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), quad, 0, 0, 0);
#else
  // CDNA3 has only the atom of depth 32. Each lane gives four k of this atom and four zeros, in A and B alike.
  const auto widened = [](const fragment<std::int8_t>& f) {
    return static_cast<long>(static_cast<unsigned long>(__builtin_bit_cast(unsigned int, f)));
  };
  const auto sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(widened(a), widened(b), quad, 0, 0, 0);
#endif
  c = __builtin_bit_cast(accumulator<std::int32_t>, sum);
}
#else
template <class T, class Acc>
__device__ void mma(accumulator<Acc>& c, const fragment<T>& a, const fragment<T>& b);  // the host's pass: never called
#endif

/// One bound for all of AMD's units, since the host does not know the device at compile time (MMA-Sim, arXiv
/// 2511.10909). CDNA3 joins groups of 8 products, truncated at 24 bits, with a floor: 10 * 2^-24 * 2^e_max a group,
/// twice; CDNA2 adds groups of 4 by pairwise fused operations, four times 4 roundings of sums below 8 * 2^e_max.
/// Flushes subnormals.
inline accumulation accumulation_model(dtype) {
  return {16, 24, 64.0F, 0x1p-23F, 0x1p-126F};
}
/// Not declared: the host does not know the device at compile time, and we have measured none.
inline matrix_atom exact_atom(dtype) {
  return {};
}
/// CDNA2 takes subnormal f16 and bf16 as 0.
inline float flushed_below(dtype type) {
  return type == dtype::f16 ? 0x1p-14F : 0x1p-126F;
}

}  // namespace assay::device
