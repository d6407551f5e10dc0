/// MQA logits: the parts of enclose() and evaluate_exactly() for operation_kind::mqa_logits.
#pragma once

#include <span>

#include "oracle/enclosure.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {

/// The enclosure of logits with only the columns of hidden keys set: -inf, or kept bits. Visible columns are
/// everything.
enclosed_tensor hidden_logits(const problem_view& view);

/// Evaluates the contract; see enclose(). Encloses logits: columns of hidden keys are the point -inf or must keep their
/// bits (fills_hidden). Throws std::invalid_argument where the contract has no atoms.
enclosure enclose_mqa_logits(const problem& planned, std::span<const named_tensor> inputs, const contract& declared);

/// Evaluate the definition; see evaluate_exactly() and evaluate_in_binary64().
enclosure evaluate_mqa_logits_exactly(const problem& planned, std::span<const named_tensor> inputs);
enclosure evaluate_mqa_logits_in_binary64(const problem& planned, std::span<const named_tensor> inputs);

}  // namespace assay::oracle
