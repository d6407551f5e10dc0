/// The parts of in-out tensors that a kernel must not change.
#pragma once

#include <string>

#include "oracle/enclosure.hpp"
#include "properties/data/inputs.hpp"

namespace assay {

/// The first byte of an in-out tensor that changed and is not part of an element that `bounds` covers: in another page,
/// or between rows. One line that names it, or empty.
std::string first_kept_change(const inputs& before, const outputs& after, const oracle::enclosure& bounds);

}  // namespace assay
