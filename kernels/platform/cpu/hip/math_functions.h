/// HIP's device functions of numbers and bits. Those with a rounding mode round as they say: nearest (rn), towards zero
/// (rz), up (ru), down (rd). Fast ones (__expf) are as exact as the others here.
#pragma once

#include <math.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// HIP's compiler has these in std, too; libstdc++ 13 has not.
// NOLINTBEGIN(cert-dcl58-cpp)
namespace std {
using ::acosf;
using ::acoshf;
using ::asinf;
using ::asinhf;
using ::atanf;
using ::atanhf;
using ::cbrtf;
using ::ceilf;
using ::cosf;
using ::coshf;
using ::erff;
using ::exp2f;
using ::expf;
using ::expm1f;
using ::fabsf;
using ::floorf;
using ::fmaf;
using ::fmaxf;
using ::fminf;
using ::fmodf;
using ::log1pf;
using ::log2f;
using ::logf;
using ::powf;
using ::rintf;
using ::roundf;
using ::sinf;
using ::sinhf;
using ::sqrtf;
using ::tanf;
using ::tanhf;
using ::truncf;
}  // namespace std
// NOLINTEND(cert-dcl58-cpp)

namespace assay::cpu {
template <std::floating_point T>
constexpr bool is_nan(T x) {
  return !(x <= std::numeric_limits<T>::infinity());
}
}  // namespace assay::cpu

// The larger and the smaller. Of a NaN and a number: the number, as GPUs' instructions and fmaxf have it; std::max
// would keep a NaN that comes first. Integers of two types meet in the type that C's arithmetic gives them.
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> max(A a, B b) {
  using type = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<type>) {
    const type x = static_cast<type>(a), y = static_cast<type>(b);
    return assay::cpu::is_nan(x) || x < y ? y : x;
  } else {
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(b) : static_cast<type>(a);
  }
}
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> min(A a, B b) {
  using type = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<type>) {
    const type x = static_cast<type>(a), y = static_cast<type>(b);
    return assay::cpu::is_nan(x) || y < x ? y : x;
  } else {
    return static_cast<type>(b) < static_cast<type>(a) ? static_cast<type>(b) : static_cast<type>(a);
  }
}

template <class T>
  requires(!std::is_arithmetic_v<T>)
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
  requires(!std::is_arithmetic_v<T>)
constexpr T min(T a, T b) {
  return b < a ? b : a;
}

// glibc declares functions of these names without defining them, so they can only be macros.
#define __expf(x) ::expf(x)
#define __exp2f(x) ::exp2f(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __powf(x, y) ::powf(x, y)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)

inline float rsqrtf(float x) {
  return 1.0F / ::sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / ::sqrt(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __saturatef(float x) {
  return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;  // NaN becomes 0
}

// f32 arithmetic, rounded to nearest: what the compiler does, but never contracted.
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float x) {
  return 1.0F / x;
}
inline float __fsqrt_rn(float x) {
  return ::sqrtf(x);
}
inline float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / ::sqrt(static_cast<double>(x)));
}
inline float __fmaf_rn(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
inline float __fmaf_ieee_rn(float a, float b, float c) {
  return ::fmaf(a, b, c);
}

namespace assay::cpu {

/// A rounded value as an integer: saturated, and NaN becomes 0, as on the GPUs.
template <std::integral T, std::floating_point F>
T saturated(F rounded) {
  if (is_nan(rounded)) return 0;
  // Both limits as F; the upper one may be rounded up to a power of two, which already is too large.
  if (rounded >= static_cast<F>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (rounded <= static_cast<F>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(rounded);
}

}  // namespace assay::cpu

#define ASSAY_TO_INTEGER(from, to, type, name)          \
  inline type __##from##2##to##_rn(name x) {            \
    return assay::cpu::saturated<type>(::nearbyint(x)); \
  }                                                     \
  inline type __##from##2##to##_rz(name x) {            \
    return assay::cpu::saturated<type>(::trunc(x));     \
  }                                                     \
  inline type __##from##2##to##_ru(name x) {            \
    return assay::cpu::saturated<type>(::ceil(x));      \
  }                                                     \
  inline type __##from##2##to##_rd(name x) {            \
    return assay::cpu::saturated<type>(::floor(x));     \
  }
ASSAY_TO_INTEGER(float, int, int, float)
ASSAY_TO_INTEGER(float, uint, unsigned int, float)
ASSAY_TO_INTEGER(float, ll, long long, float)
ASSAY_TO_INTEGER(float, ull, unsigned long long, float)
ASSAY_TO_INTEGER(double, int, int, double)
ASSAY_TO_INTEGER(double, uint, unsigned int, double)
ASSAY_TO_INTEGER(double, ll, long long, double)
ASSAY_TO_INTEGER(double, ull, unsigned long long, double)
#undef ASSAY_TO_INTEGER

inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned int x) {
  return static_cast<float>(x);
}
inline float __ll2float_rn(long long x) {
  return static_cast<float>(x);
}
inline float __ull2float_rn(unsigned long long x) {
  return static_cast<float>(x);
}
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}

inline int __popc(unsigned int x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned int>(x));
}
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(unsigned int x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}
inline int __ffsll(unsigned long long x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}
inline unsigned int __brev(unsigned int x) {
  return __builtin_bitreverse32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
/// Byte i of the result is byte `selector[4 i + 2 : 4 i]` of (high << 32 | low), counted from the lowest. Bit 4 i + 3
/// spreads that byte's sign.
inline unsigned int __byte_perm(unsigned int low, unsigned int high, unsigned int selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int choice = selector >> (4 * i) & 15;
    unsigned int byte = static_cast<unsigned int>(bytes >> (8 * (choice & 7))) & 0xFF;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}
/// The upper 32 bits of (high << 32 | low) shifted left, and the lower 32 of it shifted right.
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}

// Upper halves of products.
inline int __mulhi(int a, int b) {
  return static_cast<int>(std::int64_t{a} * b >> 32);
}
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(std::uint64_t{a} * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
/// Lower 32 bits of the product of the lower 24 bits.
inline int __mul24(int a, int b) {
  const auto low_24 = [](int x) { return static_cast<int>(static_cast<unsigned int>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned int>(std::int64_t{low_24(a)} * low_24(b)));
}
inline unsigned int __umul24(unsigned int a, unsigned int b) {
  return (a & 0xFFFFFF) * (b & 0xFFFFFF);
}

__forceinline__ unsigned int __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned int, x);
}
__forceinline__ float __uint_as_float(unsigned int x) {
  return __builtin_bit_cast(float, x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x));
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned int>(high)} << 32 | static_cast<unsigned int>(low));
}
