/// The contract that an execution is judged by.
#pragma once

#include "kernels/library.hpp"

namespace assay {

/// What the kernel declares for a planned problem; or, of a kernel without declare(), what its types alone allow
/// (contract_recipes.hpp: of_types). A contract that cannot bound the outputs, or of which a field is not set, is
/// ASSAY_FAILED.
assay_status declared_contract(const assay_kernel& kernel, const problem& planned, const assay_launch& launch,
                               contract* declared);

}  // namespace assay
