/// The numeric contract of mqa_logits.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// For the platform that this is compiled for. `p` has passed the kernel's checks.
/// `wave_size`: of the launch; the order of a sum over heads follows the layout of the atoms.
contract declare_mqa_logits(const problem& p, int wave_size);

}  // namespace assay
