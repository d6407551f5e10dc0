/// Attention as a plain program computes it that rounds each intermediate result to the precision of the inputs. The
/// tests of FlashAttention allow a kernel twice the error of such a program. It is no oracle: it states no bound.
#pragma once

#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// O, row major [total_q, heads_q, head_dim_v]. Follows attention_ref(upcast=False, reorder_ops=True) of FlashAttention
/// (hopper/test_util.py): the descaled Q, K and V, the scaled K, the logits, the soft cap, the bias, P and O are
/// rounded to Q's type; sums and the softmax are not. For 8-bit Q they are rounded to O's type, and FP8 P also to Q's.
/// A row without a visible key is 0. The inputs must be those of attention.
std::vector<double> plain_attention(const inputs& in);

}  // namespace assay
