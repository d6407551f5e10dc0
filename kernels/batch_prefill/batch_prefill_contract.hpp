/// The numeric contract of batch_prefill.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks.
contract declare_batch_prefill(const problem& p, int lanes);

}  // namespace assay
