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
    default: throw std::invalid_argument("not a float type");
  }
}

std::uint32_t round_to_bits(dtype type, double value) {
  if (type == dtype::i8) {
    const auto rounded = static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -127.0, 127.0));
    return static_cast<std::uint8_t>(rounded);
  }
  const number_format f = format_of(type);
  const double magnitude = std::fabs(value);
  std::uint32_t bits = 0;
  if (magnitude > 0) {
    // Exponents are read and made by bits, which is several times faster than frexp and ldexp. A double is subnormal
    // only below every type's smallest unit, where the clamp decides.
    const auto field_of_double = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52);
    const int exponent = std::max(field_of_double - 1023, 1 - f.bias);
    const int shift = f.mantissa_bits - exponent;
    const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(shift + 1023) << 52);
    const double units = std::nearbyint(magnitude * power);
    // The leading one of `units` adds 1 to the exponent field, so a subnormal needs none and a carry is right by
    // itself.
    const auto field = static_cast<std::uint64_t>(exponent + f.bias - 1) << f.mantissa_bits;
    bits =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(field + static_cast<std::uint64_t>(units), f.last_finite));
  }
  if (bits == 0 && type == dtype::e4m3fnuz) return 0;
  return std::signbit(value) ? bits | f.sign : bits;
}

std::uint32_t poison_pattern(dtype type, poison_kind kind) {
  if (kind == poison_kind::zero || type == dtype::none) return 0;
  if (type == dtype::i8) return kind == poison_kind::nan ? 0x80U : 0x7FU;
  const number_format f = format_of(type);
  const bool is_fp8 = size_bytes(type) == 1;
  switch (kind) {
    case poison_kind::nan:
      if (type == dtype::e4m3fnuz) return 0x80U;
      if (is_fp8) return 0x7FU;
      return (f.last_finite + 1) | (1U << (f.mantissa_bits - 1));  // quiet
    case poison_kind::inf: return is_fp8 ? f.last_finite : f.last_finite + 1;
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
