/// The numeric contract that split_kv and combine keep.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed check_problem.
contract declare_split_kv(const problem& p);

}  // namespace assay
