/// RapidCheck's view of the case space.
#pragma once

#include <rapidcheck.h>

#include "properties/case.hpp"
#include "properties/space.hpp"

namespace assay {

/// The limits for RapidCheck's size: 0 is tiny, 100 (its nominal size) is the whole space.
space_limits limits_for_size(int size);

/// Any case of the space up to the size; shrinks through `simpler`.
rc::Gen<attention_case> arbitrary_case();

}  // namespace assay
