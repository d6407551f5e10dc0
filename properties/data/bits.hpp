/// Changes of single values, by type. Relations use them to change data with no effect, or with a known effect, on
/// outputs.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/tensor.hpp"

namespace assay {

/// A pattern that spoils every result that depends on it: NaN if the type has one, else the value of largest magnitude.
std::uint32_t poison_bits(dtype type);

/// The value 1 as a bit pattern.
std::uint32_t one_bits(dtype type);

/// A different, finite value: flips the sign, and turns zero and NaN into one.
std::uint32_t other_bits(dtype type, std::uint32_t bits);

/// Another f32, finite and above 0: of a scale, which must not be below 0.
std::uint32_t other_scale_bits(std::uint32_t bits);

/// The pattern of 2^exponent times a finite value, if the type holds it exactly. Float types but f32.
std::optional<std::uint32_t> scaled_bits(dtype type, std::uint32_t bits, int exponent);

}  // namespace assay
