/// RapidCheck's view of the case space.
#pragma once

#include <rapidcheck.h>

#include "properties/case/case.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/space.hpp"

namespace assay {

/// The limits for RapidCheck's size: 0 is tiny, 100 (its nominal size) is the whole space.
space_limits limits_for_size(int size);

/// Any case of the space of these kernels up to the size; shrinks through `simpler`.
rc::Gen<attention_case> arbitrary_case(std::vector<std::string> kernels = kernels_of_the_space());

}  // namespace assay
