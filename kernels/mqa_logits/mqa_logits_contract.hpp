/// The numeric contract of mqa_logits.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks.
/// `lanes`: of a wave of the launch; by_groups: mqa_shape's. The order of a sum over heads follows the layout of the
/// atoms.
contract declare_mqa_logits(const problem& p, int lanes, bool by_groups);

}  // namespace assay
