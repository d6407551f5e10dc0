/// Two enclosures of the same outputs.
#pragma once

#include <optional>
#include <string>

#include "oracle/enclosure.hpp"

namespace assay::fuzz {

/// The first element whose intervals are none (a NaN, or ends the wrong way round) or do not meet, or that one
/// enclosure leaves to be written and the other does not. Of tensors that `exact` lacks only the former. Nothing: all
/// are well.
std::optional<std::string> disagreement(const oracle::enclosure& bounds, const oracle::enclosure& exact);

}  // namespace assay::fuzz
