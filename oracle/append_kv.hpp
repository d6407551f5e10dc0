/// Appending to a paged KV cache: the parts of enclose() and evaluate_exactly() for operation_kind::append_kv.
#pragma once

#include <span>

#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// Evaluates the contract; see enclose(). Encloses k, v and, with descales per page, k_descale and v_descale, at the
/// pages that receive a row. Throws std::invalid_argument for tensors that do not fit the problem, slots
/// outside of the pool or named twice, and counts of roundings that are negative or above 256.
enclosure enclose_append_kv(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// Evaluates the definition; see evaluate_exactly().
enclosure evaluate_append_kv_exactly(const problem& planned, std::span<const named_tensor> inputs);

}  // namespace assay::oracle
