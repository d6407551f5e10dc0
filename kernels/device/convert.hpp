/// Number formats as bit patterns, and their conversions, bit-exact on every platform: round to nearest, ties to even.
/// Needs f32 subnormals (the default of HIP and CUDA), since the small formats' subnormals pass through them.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/vector.hpp"
#include "kernels/tensor.hpp"

namespace assay::device {

struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};
struct e4m3fn {
  std::uint8_t bits;
};
struct e4m3fnuz {
  std::uint8_t bits;
};

template <class T>
inline constexpr dtype dtype_of = dtype::none;
template <>
inline constexpr dtype dtype_of<f16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<e4m3fn> = dtype::e4m3fn;
template <>
inline constexpr dtype dtype_of<e4m3fnuz> = dtype::e4m3fnuz;
template <>
inline constexpr dtype dtype_of<std::int8_t> = dtype::i8;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;

// The small formats' exponent and fraction, moved to f32's place, are the value times a power of two that is the
// difference of the biases; multiplying by it is exact, and turns small subnormals into normal numbers.

__device__ __forceinline__ float to_float(f16 x) {
  const unsigned int sign = static_cast<unsigned int>(x.bits & 0x8000U) << 16, rest = x.bits & 0x7FFFU;
  const unsigned int magnitude =
      rest >= 0x7C00U ? 0x7F800000U | (rest & 0x3FFU) << 13 : __float_as_uint(__uint_as_float(rest << 13) * 0x1p112F);
  return __uint_as_float(sign | magnitude);
}
__device__ __forceinline__ float to_float(bf16 x) {
  return __uint_as_float(static_cast<unsigned int>(x.bits) << 16);
}
/// OCP E4M3: bias 7, no infinities, 0x7F and 0xFF are NaN.
__device__ __forceinline__ float to_float(e4m3fn x) {
  const unsigned int sign = static_cast<unsigned int>(x.bits & 0x80U) << 24, rest = x.bits & 0x7FU;
  const unsigned int magnitude = rest == 0x7FU ? 0x7FC00000U : __float_as_uint(__uint_as_float(rest << 20) * 0x1p120F);
  return __uint_as_float(sign | magnitude);
}
/// AMD's FNUZ E4M3: bias 8, no infinities, no -0: 0x80 is the only NaN.
__device__ __forceinline__ float to_float(e4m3fnuz x) {
  if (x.bits == 0x80U) return __uint_as_float(0x7FC00000U);
  const unsigned int sign = static_cast<unsigned int>(x.bits & 0x80U) << 24, rest = x.bits & 0x7FU;
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest << 20) * 0x1p119F));
}
__device__ __forceinline__ float to_float(float x) {
  return x;
}

template <class T>
__device__ inline T from_float(float x);

template <>
__device__ inline f16 from_float<f16>(float x) {
  const unsigned int u = __float_as_uint(x), sign = (u >> 16) & 0x8000U, a = u & 0x7FFFFFFFU;
  unsigned int r = 0;
  if (a > 0x7F800000U) {
    r = 0x7E00U;  // NaN
  } else if (a >= 0x477FF000U) {
    r = 0x7C00U;  // 65520, half way between the largest f16 and 2^16, ties to infinity
  } else if (a < 0x38800000U) {
    // Below 2^-14: an ulp of 0.5 is 2^-24, f16's subnormal spacing, so the addition itself rounds to it.
    r = __float_as_uint(__uint_as_float(a) + 0.5F) - 0x3F000000U;
  } else {
    r = (a + 0xFFFU + ((a >> 13) & 1U) - (112U << 23)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | r)};
}

template <>
__device__ inline bf16 from_float<bf16>(float x) {
  const unsigned int u = __float_as_uint(x);
  if ((u & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>((u >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((u + 0x7FFFU + ((u >> 16) & 1U)) >> 16)};
}

/// Rounds a finite magnitude to E4M3 of this bias; `shift` is the power of two by which f32's exponent is rebased.
/// Magnitudes beyond the largest code saturate to it.
__device__ inline unsigned int round_to_e4m3(unsigned int magnitude, int bias, unsigned int largest) {
  const unsigned int rebase = static_cast<unsigned int>(127 - bias);
  const unsigned int smallest_normal = (rebase + 1U) << 23;
  if (magnitude < smallest_normal) {
    // Subnormal spacing is 2^(1 - bias - 3); the f32 with that ulp is 2^(24 - 3 - bias), exponent field 148 - bias.
    const unsigned int anchor = static_cast<unsigned int>(148 - bias) << 23;
    return __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(anchor)) - anchor;
  }
  const unsigned int rounded = (magnitude + 0x7FFFFU + ((magnitude >> 20) & 1U) - (rebase << 23)) >> 20;
  return min_of(rounded, largest);
}

/// Saturates: finite values beyond 448 and infinities become +-448; NaN stays NaN.
template <>
__device__ inline e4m3fn from_float<e4m3fn>(float x) {
  const unsigned int u = __float_as_uint(x), sign = (u >> 24) & 0x80U, a = u & 0x7FFFFFFFU;
  if (a > 0x7F800000U) return {static_cast<std::uint8_t>(sign | 0x7FU)};
  return {static_cast<std::uint8_t>(sign | round_to_e4m3(a, 7, 0x7EU))};
}
/// Saturates at +-240; NaN becomes 0x80, and so nothing that rounds to 0 keeps its sign.
template <>
__device__ inline e4m3fnuz from_float<e4m3fnuz>(float x) {
  const unsigned int u = __float_as_uint(x), sign = (u >> 24) & 0x80U, a = u & 0x7FFFFFFFU;
  if (a > 0x7F800000U) return {0x80U};
  const unsigned int r = round_to_e4m3(a, 8, 0x7FU);
  return {static_cast<std::uint8_t>(r == 0 ? 0U : sign | r)};
}

/// The codes of two numbers in an 8-bit type: that of `low` in the low byte, then that of `high`.
template <class T>
__device__ inline unsigned int from_floats(float low, float high) {
  static_assert(sizeof(T) == 1);
  return static_cast<unsigned int>(from_float<T>(low).bits) | static_cast<unsigned int>(from_float<T>(high).bits) << 8;
}
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
/// By one instruction, which rounds and saturates in the same way. A NaN becomes 0x7F: there, results of arithmetic are
/// positive NaN.
template <>
__device__ inline unsigned int from_floats<e4m3fn>(float low, float high) {
  unsigned short codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  return codes;
}
#endif

template <>
__device__ inline float from_float<float>(float x) {
  return x;
}

/// From a stored element to the type that the matrix unit multiplies: exact, since every E4M3 value is an f16 and a
/// bf16. Normal numbers keep exponent and fraction, but for the bias.
template <class To, class From>
__device__ inline To to_compute(From x) {
  if constexpr (sizeof(From) == 1 && sizeof(To) == 2) {
    constexpr bool is_fnuz = std::is_same_v<From, e4m3fnuz>, is_f16 = std::is_same_v<To, f16>;
    constexpr unsigned int smallest_normal = 8, fraction_bits = is_f16 ? 10 : 7;
    constexpr unsigned int rebase = (is_f16 ? 15U : 127U) - (is_fnuz ? 8U : 7U);
    const unsigned int sign = (x.bits & 0x80U) << 8, rest = x.bits & 0x7FU;
    if (rest >= smallest_normal && (is_fnuz || rest != 0x7FU))
      return {static_cast<std::uint16_t>(sign | ((rest << (fraction_bits - 3)) + (rebase << fraction_bits)))};
  }
  return from_float<To>(to_float(x));
}

}  // namespace assay::device
