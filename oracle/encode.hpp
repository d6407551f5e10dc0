/// Values to bit patterns: the inverse of decode().
#pragma once

#include <cstdint>

#include "kernels/tensor.hpp"

namespace assay::oracle {

/// The pattern of a value that the type holds, as round_to_nearest() returns it; the sign of zero is kept where the
/// type has one. NaN gives a NaN of the type. Throws std::invalid_argument for types that decode() does not know.
std::uint32_t encode(dtype type, double value);

/// The other FP8 format with as many exponent bits: of OCP's types the fnuz type, and back.
dtype fp8_twin(dtype type);

/// What the code of an FP8 value is in the format's twin: another number, or NaN.
double as_fp8_twin(dtype type, double value);

}  // namespace assay::oracle
