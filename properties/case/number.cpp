#include "properties/case/number.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

/// The pattern of a float type that is nearest to a positive double, in integers only: the fills call it for each
/// element.
constexpr std::uint32_t nearest_pattern(const number_format& f, double magnitude) {
  constexpr int double_mantissa_bits = 52, double_bias = 1023;
  const auto bits = std::bit_cast<std::uint64_t>(magnitude);
  // Of a subnormal double the hidden one is wrong; all of it is below half of every type's smallest unit.
  const std::uint64_t mantissa =
      (bits & ((std::uint64_t{1} << double_mantissa_bits) - 1)) | (std::uint64_t{1} << double_mantissa_bits);
  const int exponent = static_cast<int>(bits >> double_mantissa_bits) - double_bias;
  const int kept_exponent = std::max(exponent, 1 - f.bias);  // that of subnormals, and no less
  // mantissa < 2^53 is less than half of 2^54: whatever drops more is 0, and of a subnormal.
  const int dropped =
      std::min(double_mantissa_bits - f.mantissa_bits + kept_exponent - exponent, double_mantissa_bits + 2);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1), odd = (mantissa >> dropped) & 1;
  const std::uint64_t units = (mantissa + half - 1 + odd) >> dropped;
  // The leading one of `units` adds 1 to the exponent field, so a subnormal needs none and a carry is right by itself.
  const auto field = static_cast<std::uint64_t>(kept_exponent + f.bias - 1) << f.mantissa_bits;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(field + units, f.last_finite));
}

/// round_to_bits() of a type that is known where it is compiled.
template <dtype Type>
std::uint32_t rounded(double value) {
  if constexpr (Type == dtype::i8) {
    // A sum this large has units of 1: it is rounded as std::nearbyint rounds, which is a call.
    constexpr double has_units = 0x1.8p52;
    return static_cast<std::uint8_t>(
        static_cast<std::int8_t>(std::clamp(value, -127.0, 127.0) + has_units - has_units));
  } else {
    constexpr number_format f = format_of(Type);
    const std::uint32_t bits = nearest_pattern(f, std::fabs(value));
    const std::uint32_t sign = std::signbit(value) ? f.sign : 0;
    return is_fnuz(Type) && bits == 0 ? 0 : bits | sign;
  }
}

/// Calls visit<type>() for a type that numbers are rounded to.
template <typename Visit>
auto with_type(dtype type, Visit&& visit) {
  switch (type) {
    case dtype::f32: return visit.template operator()<dtype::f32>();
    case dtype::f16: return visit.template operator()<dtype::f16>();
    case dtype::bf16: return visit.template operator()<dtype::bf16>();
    case dtype::e4m3fn: return visit.template operator()<dtype::e4m3fn>();
    case dtype::e4m3fnuz: return visit.template operator()<dtype::e4m3fnuz>();
    case dtype::e5m2: return visit.template operator()<dtype::e5m2>();
    case dtype::e5m2fnuz: return visit.template operator()<dtype::e5m2fnuz>();
    case dtype::i8: return visit.template operator()<dtype::i8>();
    default: throw std::invalid_argument("no type of numbers");
  }
}

template <typename Element>
void store_as(void* data, std::int64_t first_element, std::span<const std::uint32_t> bits) {
  auto* const to = static_cast<Element*>(data) + first_element;
  for (std::size_t i = 0; i < bits.size(); ++i) to[i] = static_cast<Element>(bits[i]);
}

}  // namespace

std::uint32_t round_to_bits(dtype type, double value) {
  return with_type(type, [=]<dtype Type> { return rounded<Type>(value); });
}

void round_to_bits(dtype type, std::span<const double> values, std::span<std::uint32_t> bits) {
  with_type(type, [=]<dtype Type> {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = rounded<Type>(values[i]);
  });
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

void store_bits(void* data, std::int64_t first_element, dtype type, std::span<const std::uint32_t> bits) {
  switch (size_bytes(type)) {
    case 1: return store_as<std::uint8_t>(data, first_element, bits);
    case 2: return store_as<std::uint16_t>(data, first_element, bits);
    default: return store_as<std::uint32_t>(data, first_element, bits);
  }
}

}  // namespace assay
