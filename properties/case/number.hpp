/// Element bit patterns of the types. This rounding code is for the fills; kernels and oracle have their own.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "properties/case/case.hpp"

namespace assay {

/// How a float type lays out its bits.
struct number_format {
  int mantissa_bits;
  int bias;
  std::uint32_t sign;         ///< the sign bit
  std::uint32_t last_finite;  ///< pattern of the largest finite value
};

/// Of f32, f16, bf16 and the FP8 types. Throws std::invalid_argument for others.
constexpr number_format format_of(dtype type) {
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

/// The pattern nearest to a finite value, ties to even, saturating at the largest finite (i8: at +-127). Zeros of
/// e4m3fnuz have no sign. Exact on every machine, in any rounding mode but for i8.
std::uint32_t round_to_bits(dtype type, double value);
/// The same of as many values as there are bits.
void round_to_bits(dtype type, std::span<const double> values, std::span<std::uint32_t> bits);

/// Contents of dead elements of a type. FP8 has no infinity: there `inf` is the largest value. int8 has no NaN: there
/// `nan` is -128.
std::uint32_t poison_pattern(dtype type, poison_kind kind);

/// Writes an element at its byte offset.
void store_bits(void* data, std::int64_t element, dtype type, std::uint32_t bits);
/// Writes elements one behind the other.
void store_bits(void* data, std::int64_t first_element, dtype type, std::span<const std::uint32_t> bits);

}  // namespace assay
