/// A plain decoder of element bits for tests, written from the formats' definitions.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "properties/data/inputs.hpp"

namespace assay::test {

inline std::uint32_t bits_at(const tensor& t, std::int64_t offset) {
  std::uint32_t bits = 0;
  const auto size = static_cast<std::size_t>(size_bytes(t.type));
  std::memcpy(&bits, static_cast<const char*>(t.data) + offset * static_cast<std::int64_t>(size), size);
  return bits;
}

inline double decode_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
  const double fraction = (bits & ((1U << mantissa_bits) - 1)) * std::ldexp(1.0, -mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

inline double decode(dtype type, std::uint32_t bits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  switch (type) {
    case dtype::f32: {
      float f;
      std::memcpy(&f, &bits, sizeof f);
      return static_cast<double>(f);
    }
    case dtype::f16:
      if ((bits & 0x7C00) == 0x7C00) return (bits & 0x3FF) != 0 ? nan : (bits & 0x8000) != 0 ? -inf : inf;
      return decode_float(bits, 5, 10, 15);
    case dtype::bf16: return decode(dtype::f32, bits << 16);
    case dtype::e4m3fn: return (bits & 0x7F) == 0x7F ? nan : decode_float(bits, 4, 3, 7);
    case dtype::e4m3fnuz: return bits == 0x80 ? nan : decode_float(bits, 4, 3, 8);
    case dtype::e5m2:
      if ((bits & 0x7C) == 0x7C) return (bits & 3) != 0 ? nan : (bits & 0x80) != 0 ? -inf : inf;
      return decode_float(bits, 5, 2, 15);
    case dtype::e5m2fnuz: return bits == 0x80 ? nan : decode_float(bits, 5, 2, 16);
    case dtype::i8: return static_cast<std::int8_t>(bits);
    case dtype::i32: return static_cast<std::int32_t>(bits);
    case dtype::i64:
    case dtype::tf32:
    case dtype::none: break;
  }
  return nan;
}

inline double value_at(const tensor& t, std::int64_t offset) {
  return decode(t.type, bits_at(t, offset));
}

inline const tensor& tensor_of(const inputs& in, const char* name) {
  for (const buffer& b : in.buffers)
    if (b.name() == name) return b.view();
  throw std::out_of_range(name);
}

}  // namespace assay::test
