/// Attention: the parts of enclose() and evaluate_exactly() for operation_kind::attention.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "oracle/code_counts.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {

/// Evaluates the contract; see enclose(). Encloses o, lse and, with num_splits > 1 and a declared order, o_partial and
/// lse_partial. Adds the
/// P codes that the contract rounds to `counts`, unless it is null. Throws std::invalid_argument if the contract has no
/// tiles or atoms, or does not define which tiles a block visits.
enclosure enclose_attention(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                            code_counts* counts);

/// One row and head by the definition.
struct exact_row {
  std::vector<interval> o;
  interval lse;
};
exact_row evaluate_attention_row(const problem& stated, std::span<const named_tensor> inputs, std::int64_t seq,
                                 std::int64_t i, std::int64_t head);

/// The weights of one row and head by the definition in binary64, as the logarithms of each key's share of the softmax.
struct exact_weights {
  key_range visible;
  std::vector<double> x;  ///< of each visible key, its logit less the LSE; empty where binary64 does not suffice, where
                          ///< a logit is not finite but for a bias of -inf, and without visible keys
  /// The same of the hidden keys next to the visible ones; NaN where the sequence has no such key or it is not finite.
  /// Their data may be dead.
  double before = 0, behind = 0;
  double lse = 0;  ///< within 2^-34, where x is not empty
  double slope =
      0;  ///< of the LSE, by the logarithm of `scale`: the mean of the logits where nothing caps or biases them
};
using weight_evaluation = std::function<exact_weights(std::int64_t seq, std::int64_t i, std::int64_t head)>;
/// `stated` and the tensors' memory must outlive the result.
weight_evaluation evaluate_attention_weights(const problem& stated, std::span<const named_tensor> inputs);

/// Evaluate the definition; see evaluate_exactly() and evaluate_in_binary64().
enclosure evaluate_attention_exactly(const problem& planned, std::span<const named_tensor> inputs);
enclosure evaluate_attention_in_binary64(const problem& planned, std::span<const named_tensor> inputs);

}  // namespace assay::oracle
