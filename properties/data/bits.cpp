#include "properties/data/bits.hpp"

#include <cmath>

#include "oracle/decode.hpp"
#include "properties/case/number.hpp"

namespace assay {
namespace {

bool is_integer(dtype type) {
  return type == dtype::i8 || type == dtype::i32;
}

}  // namespace

std::uint32_t poison_bits(dtype type) {
  switch (type) {
    case dtype::f32: return 0x7FC00000U;
    case dtype::f16: return 0x7E00U;
    case dtype::bf16: return 0x7FC0U;
    case dtype::e4m3fn: return 0x7FU;
    case dtype::e5m2: return 0x7EU;
    case dtype::e4m3fnuz:
    case dtype::e5m2fnuz:
    case dtype::i8: return 0x80U;
    case dtype::i32: return 0x80000000U;
    case dtype::i64:
    case dtype::tf32:
    case dtype::none: break;
  }
  return 0;
}

std::uint32_t one_bits(dtype type) {
  if (is_integer(type)) return 1;
  const number_format at = format_of(type);
  return static_cast<std::uint32_t>(at.bias) << at.mantissa_bits;
}

std::uint32_t other_bits(dtype type, std::uint32_t bits) {
  if (type == dtype::i8) return ~bits & 0xFFU;
  if (type == dtype::i32) return ~bits;
  const number_format at = format_of(type);
  const std::uint32_t magnitude = bits & ~at.sign;
  // A flipped zero would be NaN in the fnuz types and equal to zero in the others.
  if (magnitude == 0 || magnitude > at.last_finite) return one_bits(type);
  return bits ^ at.sign;
}

std::uint32_t other_scale_bits(std::uint32_t bits) {
  constexpr std::uint32_t top_of_mantissa = 1U << 22U;
  const bool is_positive = bits > 0 && bits <= format_of(dtype::f32).last_finite;
  return is_positive && bits != top_of_mantissa ? bits ^ top_of_mantissa : one_bits(dtype::f32);
}

std::optional<std::uint32_t> scaled_bits(dtype type, std::uint32_t bits, int exponent) {
  const number_format at = format_of(type);
  const std::uint32_t magnitude = bits & ~at.sign;
  if (magnitude > at.last_finite || std::isnan(oracle::decode(type, bits))) return std::nullopt;
  if (magnitude == 0) return bits;
  const int field = static_cast<int>(magnitude >> at.mantissa_bits);
  // Only normal values stay in reach of an exponent shift; scaling a subnormal is left to the caller to avoid.
  if (field == 0 || field + exponent < 1) return std::nullopt;
  const std::uint32_t scaled = magnitude + (static_cast<std::uint32_t>(exponent) << at.mantissa_bits);
  if (scaled > at.last_finite) return std::nullopt;
  return scaled | (bits & at.sign);
}

}  // namespace assay
