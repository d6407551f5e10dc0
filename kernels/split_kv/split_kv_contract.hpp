/// The numeric contract of split_kv and combine.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks.
contract declare_split_kv(const problem& p, int lanes);

}  // namespace assay
