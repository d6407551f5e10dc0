#include "oracle/decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracle/clones.hpp"

namespace assay::oracle {
namespace {

/// A binary format: `precision` significant bits, numbers are multiples of 2^quantum_exponent, at most `largest`.
struct binary_format {
  int precision;
  int quantum_exponent;
  double largest;
  bool has_infinity;
};

binary_format format_of(dtype type) {
  switch (type) {
    case dtype::f32: return {24, -149, 0x1.fffffep127, true};
    case dtype::f16: return {11, -24, 65504.0, true};
    case dtype::bf16: return {8, -133, 0x1.fep127, true};
    case dtype::tf32: return {11, -136, 0x1.ffcp127, true};
    case dtype::e4m3fn: return {4, -9, 448.0, false};       // bias 7: 2^(1-7-3)
    case dtype::e4m3fnuz: return {4, -10, 240.0, false};    // bias 8
    case dtype::e5m2: return {3, -16, 57344.0, true};       // bias 15: 2^(1-15-2)
    case dtype::e5m2fnuz: return {3, -17, 57344.0, false};  // bias 16
    case dtype::i8: return {53, 0, 127.0, false};
    case dtype::i32: return {53, 0, 2147483647.0, false};
    case dtype::i64:
    case dtype::none: break;
  }
  throw std::invalid_argument("oracle: an element type is missing");
}

/// 2^exponent, for exponents of normal binary64 numbers.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// floor(log2 |value|); -1023 for zero and binary64's subnormals, which lie below every type here.
int exponent_of(double value) {
  return static_cast<int>((std::bit_cast<std::uint64_t>(value) >> 52) & 0x7FFU) - 1023;
}

/// Exponent of the type's quantum in the binade of a finite value.
int quantum_exponent_at(const binary_format& f, double value) {
  return std::max(exponent_of(value) - (f.precision - 1), f.quantum_exponent);
}

double decode_fp8(std::uint32_t bits, int fraction_bits, int bias) {
  const int exponent = static_cast<int>((bits & 0x7FU) >> fraction_bits);
  const std::uint32_t hidden = 1U << fraction_bits, fraction = bits & (hidden - 1);
  const double magnitude = static_cast<double>(exponent == 0 ? fraction : hidden + fraction) *
                           power_of_two(std::max(exponent, 1) - bias - fraction_bits);
  return (bits & 0x80U) != 0 ? -magnitude : magnitude;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double decode_byte(dtype type, std::uint32_t bits) {
  bits &= 0xFFU;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (type == dtype::i8) return static_cast<double>(static_cast<std::int8_t>(bits));
  if (is_fnuz(type) && bits == 0x80U) return not_a_number;
  if (type == dtype::e4m3fn) return magnitude == 0x7FU ? not_a_number : decode_fp8(bits, 3, 7);
  if (type == dtype::e4m3fnuz) return decode_fp8(bits, 3, 8);
  if (type == dtype::e5m2fnuz) return decode_fp8(bits, 2, 16);
  constexpr std::uint32_t infinity = 0x7CU;  // of e5m2
  if (magnitude > infinity) return not_a_number;
  if (magnitude == infinity) return (bits & 0x80U) != 0 ? -HUGE_VAL : HUGE_VAL;
  return decode_fp8(bits, 2, 15);
}

const std::array<double, 256>& byte_table(dtype type) {
  static const auto make = [](dtype of) {
    std::array<double, 256> table{};
    for (std::uint32_t bits = 0; bits < 256; ++bits) table[bits] = decode_byte(of, bits);
    return table;
  };
  static const std::array<double, 256> integer = make(dtype::i8), fn = make(dtype::e4m3fn),
                                       fnuz = make(dtype::e4m3fnuz), e5m2 = make(dtype::e5m2),
                                       e5m2fnuz = make(dtype::e5m2fnuz);
  switch (type) {
    case dtype::e4m3fn: return fn;
    case dtype::e4m3fnuz: return fnuz;
    case dtype::e5m2: return e5m2;
    case dtype::e5m2fnuz: return e5m2fnuz;
    default: return integer;
  }
}

/// Branchless, so that a row of them is vectorised.
inline double decode_f16(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7FFFU, sign = (bits & 0x8000U) << 16;
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);  // exponent bias 15 -> 127
  const std::uint32_t special = (magnitude << 13) | 0x7F800000U;  // infinities and NaN
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const std::uint32_t finite = magnitude < 0x400U ? subnormal : normal;
  return std::bit_cast<float>((magnitude >= 0x7C00U ? special : finite) | sign);
}

ASSAY_CLONES
void decode_f16_row(const std::uint16_t* bits, std::int64_t count, double* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = decode_f16(bits[i]);
}

ASSAY_CLONES
void decode_bf16_row(const std::uint16_t* bits, std::int64_t count, double* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits[i]) << 16);
}

template <class T>
const T* elements(const tensor& t, std::int64_t offset) {
  return static_cast<const T*>(t.data) + offset;
}

}  // namespace

double decode(dtype type, std::uint32_t bits) {
  switch (type) {
    case dtype::f32: return std::bit_cast<float>(bits);
    case dtype::f16: return decode_f16(bits & 0xFFFFU);
    case dtype::bf16: return std::bit_cast<float>(bits << 16);
    case dtype::i32: return static_cast<std::int32_t>(bits);
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz:
    case dtype::i8: return decode_byte(type, bits);
    case dtype::i64:
    case dtype::tf32:
    case dtype::none: break;
  }
  throw std::invalid_argument("oracle: an element type is missing");
}

double load(const tensor& t, std::int64_t offset) {
  double value = 0;
  load_contiguous(t, offset, 1, &value);
  return value;
}

void load_contiguous(const tensor& t, std::int64_t offset, std::int64_t count, double* values) {
  switch (t.type) {
    case dtype::f16: decode_f16_row(elements<std::uint16_t>(t, offset), count, values); return;
    case dtype::bf16: decode_bf16_row(elements<std::uint16_t>(t, offset), count, values); return;
    case dtype::f32:
    case dtype::i32: {
      const auto* bits = elements<std::uint32_t>(t, offset);
      for (std::int64_t i = 0; i < count; ++i) values[i] = decode(t.type, bits[i]);
      return;
    }
    default: break;
  }
  if (size_bytes(t.type) != 1) throw std::invalid_argument("oracle: a tensor has no element type");
  const std::array<double, 256>& table = byte_table(t.type);
  const auto* bits = elements<std::uint8_t>(t, offset);
  for (std::int64_t i = 0; i < count; ++i) values[i] = table[bits[i]];
}

void load_contiguous_bits(const tensor& t, std::int64_t offset, std::int64_t count, std::uint32_t* bits) {
  switch (size_bytes(t.type)) {
    case 1: std::copy_n(elements<std::uint8_t>(t, offset), count, bits); return;
    case 2: std::copy_n(elements<std::uint16_t>(t, offset), count, bits); return;
    case 4: std::copy_n(elements<std::uint32_t>(t, offset), count, bits); return;
    default: throw std::invalid_argument("oracle: a tensor's elements have no bits of 4 bytes at most");
  }
}

double round_to_nearest(dtype type, double value) {
  if (type == dtype::f32) return static_cast<float>(value);  // the compiler's conversion rounds to nearest even
  const binary_format f = format_of(type);
  if (std::isnan(value)) return value;
  if (std::isinf(value)) return f.has_infinity ? value : std::copysign(f.largest, value);
  // 1.5 * 2^52 quanta: the sum's last place is one quantum, and the offset is even, so ties go to the even multiple.
  // |value| < 2^precision quanta keeps the sum in that binade; whole numbers may exceed it and are cut first.
  const double cut = std::clamp(value, -4 * f.largest, 4 * f.largest);
  if (f.precision == 53) return std::clamp(std::nearbyint(cut), -f.largest - 1, f.largest);
  const double offset = 1.5 * power_of_two(quantum_exponent_at(f, cut) + 52);
  const double rounded = (cut + offset) - offset;
  if (std::fabs(rounded) <= f.largest) return rounded == 0 ? std::copysign(0.0, value) : rounded;
  return std::copysign(f.has_infinity ? std::numeric_limits<double>::infinity() : f.largest, value);
}

double round_down(dtype type, double value) {
  const double nearest = round_to_nearest(type, value);
  return nearest > value ? next_down(type, nearest) : nearest;
}

double round_up(dtype type, double value) {
  return -round_down(type, -value);
}

double next_up(dtype type, double value) {
  const binary_format f = format_of(type);
  if (std::isnan(value) || value == std::numeric_limits<double>::infinity()) return value;
  if (std::isinf(value)) return -f.largest;
  if (value == f.largest) return f.has_infinity ? std::numeric_limits<double>::infinity() : value;
  int exponent = quantum_exponent_at(f, value);
  // Towards zero from a power of two the numbers lie twice as dense, down to the type's quantum.
  if (value < 0 && std::fabs(value) == power_of_two(exponent_of(value)) && exponent > f.quantum_exponent) --exponent;
  return value + power_of_two(exponent);
}

double next_down(dtype type, double value) {
  return -next_up(type, -value);
}

double ulp(dtype type, double value) {
  const binary_format f = format_of(type);
  if (!(std::fabs(value) <= f.largest)) return std::numeric_limits<double>::infinity();
  return power_of_two(quantum_exponent_at(f, value));
}

double least_normal(dtype type) {
  switch (type) {
    case dtype::f16:
    case dtype::e5m2: return 0x1p-14;
    case dtype::e5m2fnuz: return 0x1p-15;
    case dtype::e4m3fn: return 0x1p-6;
    case dtype::e4m3fnuz: return 0x1p-7;
    case dtype::f32:
    case dtype::bf16:
    case dtype::tf32: return 0x1p-126;
    case dtype::i8:
    case dtype::i32:
    case dtype::i64:
    case dtype::none: break;
  }
  return 0;
}

double largest(dtype type) {
  return format_of(type).largest;
}

}  // namespace assay::oracle
