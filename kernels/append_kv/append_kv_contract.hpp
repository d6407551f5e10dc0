/// The numeric contract of append_kv.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks.
contract declare_append_kv(const problem& p);

}  // namespace assay
