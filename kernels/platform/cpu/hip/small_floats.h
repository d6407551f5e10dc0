/// The numbers of 16 and 8 bits behind hip_fp16.h, hip_bf16.h and hip_fp8.h: bit patterns with conversions that round
/// to nearest, ties to even. Arithmetic of 16 bits is that of f32, rounded once: for sums, products, quotients and
/// roots of both formats the same as rounding the exact result, since f32 has more than twice their digits and two
/// (Figueroa, "When is double rounding innocuous?", 1995). A fused multiply-add goes through f64, where the product is
/// exact and the sum rounded to odd.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "hip/atomics.h"

namespace assay::cpu {

/// A binary format with a sign, `exponent_bits` and `fraction_bits`.
struct float_format {
  int exponent_bits;
  int fraction_bits;
  int bias;
  bool has_infinity;       ///< else the largest exponent holds numbers, too
  bool has_negative_zero;  ///< else that code is the only NaN
};

inline constexpr float_format f16_format{5, 10, 15, true, true};
inline constexpr float_format bf16_format{8, 7, 127, true, true};
inline constexpr float_format e4m3_format{4, 3, 7, false, true};
inline constexpr float_format e5m2_format{5, 2, 15, true, true};
inline constexpr float_format e4m3_fnuz_format{4, 3, 8, false, false};
inline constexpr float_format e5m2_fnuz_format{5, 2, 16, false, false};

constexpr unsigned int nan_code(float_format f) {
  const unsigned int sign = 1U << (f.exponent_bits + f.fraction_bits), all = sign - 1;
  if (!f.has_negative_zero) return sign;
  return f.has_infinity ? (all & ~((1U << f.fraction_bits) - 1)) | 1U << (f.fraction_bits - 1) : all;
}
/// The code of the largest finite number.
constexpr unsigned int largest_code(float_format f) {
  const unsigned int all = (1U << (f.exponent_bits + f.fraction_bits)) - 1;
  if (f.has_infinity) return (all & ~((1U << f.fraction_bits) - 1)) - 1;
  return f.has_negative_zero ? all - 1 : all;
}

constexpr double decoded(float_format f, unsigned int code) {
  const unsigned int sign = 1U << (f.exponent_bits + f.fraction_bits), rest = code & (sign - 1);
  const int exponent = static_cast<int>(rest >> f.fraction_bits);
  const unsigned int fraction = rest & ((1U << f.fraction_bits) - 1);
  double value = 0;
  if (!f.has_negative_zero && code == sign) return __builtin_nan("");
  if (rest > largest_code(f)) {
    if (!f.has_infinity || fraction != 0) return __builtin_nan("");
    value = __builtin_inf();
  } else {
    const bool is_normal = exponent != 0;
    const double digits = fraction + (is_normal ? static_cast<double>(1U << f.fraction_bits) : 0.0);
    const int power = (is_normal ? exponent : 1) - f.bias - f.fraction_bits;
    value = digits * std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
  }
  return (code & sign) != 0 ? -value : value;
}

/// `saturates`: what is too large becomes the largest number; else infinity, or NaN in formats without one.
inline unsigned int encoded(float_format f, double x, bool saturates) {
  const unsigned int sign = std::signbit(x) ? 1U << (f.exponent_bits + f.fraction_bits) : 0;
  const double size = std::fabs(x);
  if (std::isnan(x)) return nan_code(f) | (f.has_negative_zero ? sign : 0);
  // In units of the last place at its exponent, subnormals having the least one.
  const int least = 1 - f.bias;
  const int exponent = size == 0 || std::isinf(size) ? least : std::max(std::ilogb(size), least);
  const double units = std::nearbyint(std::ldexp(size, f.fraction_bits - exponent));
  const double too_large = static_cast<double>(largest_code(f)) + 1;
  // The code of `units` at that exponent; a carry into the next exponent adds up.
  const double code = std::isinf(size) ? too_large : units + std::ldexp(exponent - least, f.fraction_bits);
  if (code >= too_large) {
    if (saturates) return sign | largest_code(f);
    return f.has_infinity ? sign | (largest_code(f) + 1) : nan_code(f) | (f.has_negative_zero ? sign : 0);
  }
  const auto bits = static_cast<unsigned int>(code);
  return bits == 0 && !f.has_negative_zero ? 0 : sign | bits;
}

/// a * b + c with one rounding of the exact sum to odd in f64: 53 digits are more than twice those of the small formats
/// and two, so that the next rounding is right.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact: of two small numbers
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product, error = (product - (sum - part)) + (c - part);
  if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

// The same for the two formats of 16 bits and f32, in a few instructions: kernels convert each element.

inline float widened_f16(unsigned int code) {
  // The exponent and fraction moved to f32's place are the value times 2^-112, subnormals too; the product is exact.
  const unsigned int sign = (code & 0x8000U) << 16, rest = code & 0x7FFFU;
  const unsigned int size = rest >= 0x7C00U ? 0x7F800000U | (rest & 0x3FFU) << 13
                                            : std::bit_cast<unsigned int>(std::bit_cast<float>(rest << 13) * 0x1p112F);
  return std::bit_cast<float>(sign | size);
}
inline unsigned int narrowed_f16(float x) {
  const auto bits = std::bit_cast<unsigned int>(x);
  const unsigned int sign = bits >> 16 & 0x8000U, size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return sign | nan_code(f16_format);
  if (size >= 0x477FF000U) return sign | 0x7C00U;  // 65520, half way between the largest and 2^16
  // Below 2^-14: adding 0.5, whose last place is f16's least one, rounds to it.
  if (size < 0x38800000U)
    return sign | (std::bit_cast<unsigned int>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<unsigned int>(0.5F));
  return sign | (size - (112U << 23) + 0xFFFU + (size >> 13 & 1)) >> 13;
}
inline float widened_bf16(unsigned int code) {
  return std::bit_cast<float>(code << 16);
}
inline unsigned int narrowed_bf16(float x) {
  const auto bits = std::bit_cast<unsigned int>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return (bits >> 16 & 0x8000U) | nan_code(bf16_format);
  return (bits + 0x7FFFU + (bits >> 16 & 1)) >> 16;
}

/// __half and __hip_bfloat16.
template <float_format Format>
  requires(Format.exponent_bits + Format.fraction_bits == 15)
struct number16 {
  unsigned short bits;

  number16() = default;  // trivial, as in HIP: unions hold it
  // As in HIP: numbers become one, and it becomes an f32, without a cast.
  // NOLINTBEGIN(google-explicit-constructor)
  number16(float x)
      : bits(static_cast<unsigned short>(Format.fraction_bits == 10 ? narrowed_f16(x) : narrowed_bf16(x))) {}
  number16(double x) : bits(static_cast<unsigned short>(encoded(Format, x, false))) {}
  number16(int x) : number16(static_cast<double>(x)) {}
  number16(unsigned int x) : number16(static_cast<double>(x)) {}
  operator float() const { return Format.fraction_bits == 10 ? widened_f16(bits) : widened_bf16(bits); }
  // NOLINTEND(google-explicit-constructor)
  static number16 of_bits(unsigned int bits) {
    number16 x;
    x.bits = static_cast<unsigned short>(bits);
    return x;
  }
  friend number16 operator+(number16 a, number16 b) { return float(a) + float(b); }
  friend number16 operator-(number16 a, number16 b) { return float(a) - float(b); }
  friend number16 operator*(number16 a, number16 b) { return float(a) * float(b); }
  friend number16 operator/(number16 a, number16 b) { return float(a) / float(b); }
  number16 operator-() const { return of_bits(bits ^ 0x8000U); }
  number16 operator+() const { return *this; }
  number16& operator+=(number16 b) { return *this = *this + b; }
  number16& operator-=(number16 b) { return *this = *this - b; }
  number16& operator*=(number16 b) { return *this = *this * b; }
  number16& operator/=(number16 b) { return *this = *this / b; }
  friend bool operator==(number16 a, number16 b) { return float(a) == float(b); }
  friend auto operator<=>(number16 a, number16 b) { return float(a) <=> float(b); }
};

/// __half2 and __hip_bfloat162.
template <float_format Format>
struct alignas(4) pair16 {
  number16<Format> x, y;

  friend pair16 operator+(pair16 a, pair16 b) { return {a.x + b.x, a.y + b.y}; }
  friend pair16 operator-(pair16 a, pair16 b) { return {a.x - b.x, a.y - b.y}; }
  friend pair16 operator*(pair16 a, pair16 b) { return {a.x * b.x, a.y * b.y}; }
  friend pair16 operator/(pair16 a, pair16 b) { return {a.x / b.x, a.y / b.y}; }
  pair16 operator-() const { return {-x, -y}; }
  pair16& operator+=(pair16 b) { return *this = *this + b; }
  pair16& operator-=(pair16 b) { return *this = *this - b; }
  pair16& operator*=(pair16 b) { return *this = *this * b; }
  pair16& operator/=(pair16 b) { return *this = *this / b; }
  friend bool operator==(pair16 a, pair16 b) { return a.x == b.x && a.y == b.y; }
};

}  // namespace assay::cpu

// The functions of one number and of two, for both formats: __hadd and __hadd2.
#define ASSAY_BINARY(name, expression)                                                      \
  template <assay::cpu::float_format F>                                                     \
  assay::cpu::number16<F> __h##name(assay::cpu::number16<F> a, assay::cpu::number16<F> b) { \
    return expression;                                                                      \
  }                                                                                         \
  template <assay::cpu::float_format F>                                                     \
  assay::cpu::pair16<F> __h##name##2(assay::cpu::pair16<F> a, assay::cpu::pair16<F> b) {    \
    return {__h##name(a.x, b.x), __h##name(a.y, b.y)};                                      \
  }
ASSAY_BINARY(add, a + b)
ASSAY_BINARY(sub, a - b)
ASSAY_BINARY(mul, a* b)
ASSAY_BINARY(max, ::fmaxf(a, b))
ASSAY_BINARY(min, ::fminf(a, b))
#undef ASSAY_BINARY
template <assay::cpu::float_format F>
assay::cpu::number16<F> __hdiv(assay::cpu::number16<F> a, assay::cpu::number16<F> b) {
  return a / b;
}
template <assay::cpu::float_format F>
assay::cpu::pair16<F> __h2div(assay::cpu::pair16<F> a, assay::cpu::pair16<F> b) {
  return a / b;
}
template <assay::cpu::float_format F>
assay::cpu::number16<F> __hfma(assay::cpu::number16<F> a, assay::cpu::number16<F> b, assay::cpu::number16<F> c) {
  return assay::cpu::fma_to_odd(float(a), float(b), float(c));
}
template <assay::cpu::float_format F>
assay::cpu::pair16<F> __hfma2(assay::cpu::pair16<F> a, assay::cpu::pair16<F> b, assay::cpu::pair16<F> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

#define ASSAY_UNARY(name, name2, expression)                \
  template <assay::cpu::float_format F>                     \
  assay::cpu::number16<F> name(assay::cpu::number16<F> a) { \
    return expression;                                      \
  }                                                         \
  template <assay::cpu::float_format F>                     \
  assay::cpu::pair16<F> name2(assay::cpu::pair16<F> a) {    \
    return {name(a.x), name(a.y)};                          \
  }
ASSAY_UNARY(__hneg, __hneg2, -a)
ASSAY_UNARY(__habs, __habs2, a.of_bits(a.bits & 0x7FFFU))
ASSAY_UNARY(hexp, h2exp, ::exp(double(float(a))))
ASSAY_UNARY(hexp2, h2exp2, ::exp2(double(float(a))))
ASSAY_UNARY(hlog, h2log, ::log(double(float(a))))
ASSAY_UNARY(hlog2, h2log2, ::log2(double(float(a))))
ASSAY_UNARY(hsqrt, h2sqrt, ::sqrtf(float(a)))
ASSAY_UNARY(hrsqrt, h2rsqrt, 1.0 / ::sqrt(double(float(a))))
ASSAY_UNARY(hrcp, h2rcp, 1.0F / float(a))
#undef ASSAY_UNARY

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is an operator
#define ASSAY_COMPARISON(name, mark)                                     \
  template <assay::cpu::float_format F>                                  \
  bool __h##name(assay::cpu::number16<F> a, assay::cpu::number16<F> b) { \
    return float(a) mark float(b);                                       \
  }
ASSAY_COMPARISON(eq, ==)
ASSAY_COMPARISON(ne, !=)
ASSAY_COMPARISON(lt, <)
ASSAY_COMPARISON(le, <=)
ASSAY_COMPARISON(gt, >)
ASSAY_COMPARISON(ge, >=)
#undef ASSAY_COMPARISON
// NOLINTEND(bugprone-macro-parentheses)
template <assay::cpu::float_format F>
bool __hisnan(assay::cpu::number16<F> a) {
  return float(a) != float(a);
}
template <assay::cpu::float_format F>
bool __hisinf(assay::cpu::number16<F> a) {
  return std::isinf(float(a));
}

// Parts of pairs.
template <assay::cpu::float_format F>
float __low2float(assay::cpu::pair16<F> a) {
  return a.x;
}
template <assay::cpu::float_format F>
float __high2float(assay::cpu::pair16<F> a) {
  return a.y;
}

#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

/// Each element rounded once; both elements together here, on GPUs one by one.
template <assay::cpu::float_format F>
assay::cpu::number16<F> atomicAdd(assay::cpu::number16<F>* address, std::type_identity_t<assay::cpu::number16<F>> value,
                                  ASSAY_HERE) {
  return assay::cpu::update_atomically("atomicAdd", where, address,
                                       [=](assay::cpu::number16<F> old) { return old + value; });
}
template <assay::cpu::float_format F>
assay::cpu::pair16<F> atomicAdd(assay::cpu::pair16<F>* address, std::type_identity_t<assay::cpu::pair16<F>> value,
                                ASSAY_HERE) {
  return assay::cpu::update_atomically("atomicAdd", where, address,
                                       [=](assay::cpu::pair16<F> old) { return old + value; });
}
template <assay::cpu::float_format F>
assay::cpu::pair16<F> unsafeAtomicAdd(assay::cpu::pair16<F>* address, std::type_identity_t<assay::cpu::pair16<F>> value,
                                      ASSAY_HERE) {
  return atomicAdd(address, value, where);
}

#pragma clang attribute pop
