#include "properties/case/number.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace assay {

number_format format_of(dtype type) {
  switch (type) {
    case dtype::f32: return {23, 127, 0x80000000U, 0x7F7FFFFFU};
    case dtype::f16: return {10, 15, 0x8000U, 0x7BFFU};
    case dtype::bf16: return {7, 127, 0x8000U, 0x7F7FU};
    case dtype::e4m3fn: return {3, 7, 0x80U, 0x7EU};
    case dtype::e4m3fnuz: return {3, 8, 0x80U, 0x7FU};
    case dtype::e5m2: return {2, 15, 0x80U, 0x7BU};
    case dtype::e5m2fnuz: return {2, 16, 0x80U, 0x7FU};
    default: throw std::invalid_argument("not a float type");
  }
}

namespace {

/// The pattern of a float type that is nearest to a positive double, in integers only: the fills call it for each
/// element.
std::uint32_t nearest_pattern(const number_format& f, double magnitude) {
  constexpr int double_mantissa_bits = 52, double_bias = 1023;
  const auto bits = std::bit_cast<std::uint64_t>(magnitude);
  // Of a subnormal double the hidden one is wrong; all of it is below half of every type's smallest unit.
  const std::uint64_t mantissa =
      (bits & ((std::uint64_t{1} << double_mantissa_bits) - 1)) | (std::uint64_t{1} << double_mantissa_bits);
  const int exponent = static_cast<int>(bits >> double_mantissa_bits) - double_bias;
  const int kept_exponent = std::max(exponent, 1 - f.bias);  // that of subnormals, and no less
  const int dropped = double_mantissa_bits - f.mantissa_bits + kept_exponent - exponent;
  if (dropped > double_mantissa_bits + 1) return 0;  // mantissa < 2^53 is less than half of 2^54
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1), odd = (mantissa >> dropped) & 1;
  const std::uint64_t units = (mantissa + half - 1 + odd) >> dropped;
  // The leading one of `units` adds 1 to the exponent field, so a subnormal needs none and a carry is right by itself.
  const auto field = static_cast<std::uint64_t>(kept_exponent + f.bias - 1) << f.mantissa_bits;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(field + units, f.last_finite));
}

}  // namespace

std::uint32_t round_to_bits(dtype type, double value) {
  if (type == dtype::i8) {
    const auto rounded = static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -127.0, 127.0));
    return static_cast<std::uint8_t>(rounded);
  }
  const number_format f = format_of(type);
  const std::uint32_t bits = nearest_pattern(f, std::fabs(value));
  if (bits == 0 && is_fnuz(type)) return 0;
  return std::signbit(value) ? bits | f.sign : bits;
}

std::uint32_t poison_pattern(dtype type, poison_kind kind) {
  if (kind == poison_kind::zero || type == dtype::none) return 0;
  if (type == dtype::i8) return kind == poison_kind::nan ? 0x80U : 0x7FU;
  const number_format f = format_of(type);
  switch (kind) {
    case poison_kind::nan:
      if (is_fnuz(type)) return 0x80U;
      if (type == dtype::e4m3fn) return 0x7FU;
      return (f.last_finite + 1) | (1U << (f.mantissa_bits - 1));  // quiet
    case poison_kind::inf: return f.last_finite + (has_infinities(type) ? 1 : 0);
    case poison_kind::huge:
    case poison_kind::zero: break;
  }
  return f.last_finite;
}

void store_bits(void* data, std::int64_t element, dtype type, std::uint32_t bits) {
  // Little-endian machines only, as every platform of this project is.
  const std::int64_t size = size_bytes(type);
  std::memcpy(static_cast<std::byte*>(data) + element * size, &bits, static_cast<std::size_t>(size));
}

}  // namespace assay
