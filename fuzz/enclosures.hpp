/// The contract's enclosure against the definition's.
#pragma once

#include <optional>
#include <string>

#include "oracle/enclosure.hpp"

namespace assay::fuzz {

/// The contract without the roundings that the definition lacks: P is not rounded, dot products need not be f32
/// numbers, and sums over heads have no order. So it holds exact arithmetic, too.
contract loosened(contract declared);

/// The first element whose intervals are none (a NaN, or ends the wrong way round) or do not meet, or that one
/// enclosure leaves to be written and the other does not. Of tensors that `exact` lacks only the former. Nothing: all
/// are well.
std::optional<std::string> disagreement(const oracle::enclosure& bounds, const oracle::enclosure& exact);

}  // namespace assay::fuzz
