/// The numeric contract of batch_prefill.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks. `lanes`: of a wave; `by_groups`:
/// warpgroups multiply (prefill_shape.hpp).
contract declare_batch_prefill(const problem& p, int lanes, bool by_groups);

}  // namespace assay
