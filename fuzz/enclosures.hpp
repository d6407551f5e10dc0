/// The contract's enclosure against the definition's.
#pragma once

#include <optional>
#include <string>

#include "oracle/enclosure.hpp"

namespace assay::fuzz {

/// The contract loosened until exact arithmetic meets it: P is not rounded, dot products need not be f32 numbers, and
/// sums over heads have no order.
contract loosened(contract declared);

/// The first element for which one of the intervals is invalid (a bound is NaN, or lo > hi), the intervals do not meet,
/// or only one enclosure leaves the element unwritten. Tensors that only `bounds` has are checked for invalid intervals
/// alone. Nothing if the enclosures agree.
std::optional<std::string> disagreement(const oracle::enclosure& bounds, const oracle::enclosure& exact);

}  // namespace assay::fuzz
