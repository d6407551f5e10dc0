#include "oracle/encode.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "oracle/decode.hpp"

namespace assay::oracle {
namespace {

/// Of 8-bit types: the patterns are few. A fnuz zero has no sign.
std::uint32_t encode_byte(dtype type, double value) {
  std::uint32_t found = 256;
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const double held = decode(type, bits);
    const bool is_same = std::isnan(value) ? std::isnan(held) : held == value;
    if (is_same && (found == 256 || std::signbit(held) == std::signbit(value))) found = bits;
  }
  if (found == 256) throw std::invalid_argument("oracle: the type does not hold the value");
  return found;
}

/// An f16: 5 exponent bits with bias 15, 10 bits of mantissa.
std::uint32_t encode_f16(double value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7E00U;
  if (std::isinf(value)) return sign | 0x7C00U;
  if (magnitude < 0x1p-14) return sign | static_cast<std::uint32_t>(magnitude * 0x1p24);
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [1/2, 1)
  return sign | (static_cast<std::uint32_t>(exponent + 14) << 10) |
         (static_cast<std::uint32_t>(fraction * 2048) - 1024U);
}

}  // namespace

std::uint32_t encode(dtype type, double value) {
  switch (type) {
    case dtype::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case dtype::bf16:
      return std::isnan(value) ? 0x7FC0U : std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
    case dtype::f16: return encode_f16(value);
    case dtype::i32: return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz:
    case dtype::i8: return encode_byte(type, value);
    case dtype::i64:
    case dtype::tf32:
    case dtype::none: break;
  }
  throw std::invalid_argument("oracle: an element type is missing");
}

dtype fp8_twin(dtype type) {
  switch (type) {
    case dtype::e4m3fn: return dtype::e4m3fnuz;
    case dtype::e4m3fnuz: return dtype::e4m3fn;
    case dtype::e5m2: return dtype::e5m2fnuz;
    case dtype::e5m2fnuz: return dtype::e5m2;
    default: throw std::invalid_argument("oracle: not an FP8 type");
  }
}

double as_fp8_twin(dtype type, double value) {
  return decode(fp8_twin(type), encode(type, value));
}

}  // namespace assay::oracle
