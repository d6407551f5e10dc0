/// Where a logit of mqa_logits comes from, for people who debug a defect. In plain binary64: verdicts do not depend on
/// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// The contribution of a head to a logit.
struct head_share {
  std::int64_t head = 0;
  double dot = 0;           ///< dot(q, k), before ReLU
  double weight = 0;        ///< of the row and head
  double contribution = 0;  ///< k_row_scale * weight * max(0, dot): these sum up to the logit
};

struct logit_story {
  std::int64_t sequence = 0;
  std::int64_t row_in_sequence = 0;
  std::int64_t context = 0;      ///< keys of the sequence
  std::int64_t visible_end = 0;  ///< the row sees keys [0, visible_end)
  bool is_visible = false;       ///< whether the column is one of them; else what follows is empty
  std::int64_t page = -1;
  std::int64_t slot = -1;
  double key_scale = 0;
  double value = 0;
  std::int64_t positive_heads = 0;  ///< heads that ReLU lets through
  std::vector<head_share> heads;    ///< the largest contributions, by magnitude, first
};

/// The story of logits[row, column] with at most `top` heads. Throws std::invalid_argument for an index outside of the
/// output.
logit_story explain_logit(const problem& planned, std::span<const named_tensor> inputs, std::int64_t row,
                          std::int64_t column, int top = 8);

}  // namespace assay::oracle
