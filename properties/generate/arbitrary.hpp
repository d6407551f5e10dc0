/// RapidCheck's view of the case space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "properties/case/case.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/space.hpp"
#include "properties/generate/turns.hpp"

namespace assay {

/// The size of a case of a run, 0 to 100. A round has a case for each property of the run, at its own place. In every
/// stretch of rounds small and large sizes are about as many, for each property and over all of them.
int size_of(std::int64_t round, std::int64_t place);

/// The limits for RapidCheck's size: 0 is tiny, 100 (its nominal size) is the whole space.
space_limits limits_for_size(int size);

/// Any case of the space of these kernels up to the size; shrinks through `simpler`. With a turn, a large or an empty
/// one, in that way; large ones are of any size.
rc::Gen<attention_case> arbitrary_case(std::vector<std::string> kernels = kernels_of_the_space(),
                                       turn_kind turn = turn_kind::none, std::int32_t way = -1);

}  // namespace assay
