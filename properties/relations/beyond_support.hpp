/// Cases with a feature that a library declares not to take.
#pragma once

#include <vector>

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"
#include "properties/relations/beyond_space.hpp"

namespace assay::relations {

/// Small cases within the support but for one feature each that a host sees by scalars, strides or absent tensors. A
/// few of them, by the seed of `c`, whose kernel they are of: each costs a run.
std::vector<case_beyond> cases_beyond_support(const attention_case& c, const assay_support& takes);

/// Whether the case has what the support lacks and a host cannot refuse, since it is in the data.
bool has_unseen_lack(const attention_case& c, const assay_support& takes);

}  // namespace assay::relations
