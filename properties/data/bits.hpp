/// Changes of single values, by type: what relations do to data that must not matter, or must matter in a known way.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/tensor.hpp"

namespace assay {

/// A pattern that poisons whatever it enters: NaN where the type has one, else the extreme of largest magnitude.
std::uint32_t poison_bits(dtype type);

/// The value 1 as a bit pattern.
std::uint32_t one_bits(dtype type);

/// A different finite value, given any: the sign flips, and zero (as a NaN, if the pattern was one) becomes one.
std::uint32_t other_bits(dtype type, std::uint32_t bits);

/// The pattern of 2^exponent times a finite value, if the type holds it exactly. Float types but f32.
std::optional<std::uint32_t> scaled_bits(dtype type, std::uint32_t bits, int exponent);

}  // namespace assay
