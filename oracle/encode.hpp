/// Values to bit patterns: the inverse of decode().
#pragma once

#include <cstdint>

#include "kernels/tensor.hpp"

namespace assay::oracle {

/// The pattern of a value that the type holds, as round_to_nearest() returns it; the sign of zero is kept where the
/// type has one. NaN gives a NaN of the type. Throws std::invalid_argument for types that decode() does not know.
std::uint32_t encode(dtype type, double value);

}  // namespace assay::oracle
