/// The contract that an execution is judged by.
#pragma once

#include "kernels/library.h"

namespace assay {

/// How much of a library's contracts its kernels are judged by: all; what they round to which type, in any order of
/// operations (not of append_kv, which has no order); or nothing, as if they had no declare().
enum class contract_use { declared, open, none };

/// What the kernel declares for a planned problem; or, of a kernel without declare(), what its types alone allow
/// (contract_recipes.hpp: of_types). A contract that cannot bound the outputs, or of which a field is not set, is
/// ASSAY_FAILED. `known_bytes`: of a contract, by the library of that kernel (assay_library::contract_bytes).
assay_status declared_contract(const assay_kernel& kernel, const problem& planned, const assay_launch& launch,
                               contract_use use, contract* declared, std::int32_t known_bytes = sizeof(contract));

}  // namespace assay
