/// Element bit patterns of the types. This rounding code is for the fills; kernels and oracle have their own.
#pragma once

#include <cstdint>

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
number_format format_of(dtype type);

/// The pattern nearest to a finite value, ties to even, saturating at the largest finite (i8: at +-127). Zeros of
/// e4m3fnuz have no sign. Exact on every machine, in any rounding mode but for i8.
std::uint32_t round_to_bits(dtype type, double value);

/// Contents of dead elements of a type. FP8 has no infinity: there `inf` is the largest value. int8 has no NaN: there
/// `nan` is -128.
std::uint32_t poison_pattern(dtype type, poison_kind kind);

/// Writes an element at its byte offset.
void store_bits(void* data, std::int64_t element, dtype type, std::uint32_t bits);

}  // namespace assay
