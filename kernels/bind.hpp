/// Tensors of a call: looks them up by name and holds them to problem.hpp before anything is launched.
#pragma once

#include <span>

#include "kernels/library.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// All tensors of split_kv. Absent optional ones have no data.
struct bound_tensors {
  tensor q, k, v, cu_seqlens_q, seqlens_k, block_table, page_indptr, page_indices, prefix_offset, bias, sinks;
  tensor o, lse, o_partial, lse_partial;
};

/// ASSAY_OK, or ASSAY_REJECTED with a message that names the tensor and what is wrong. `p` has passed check_problem.
assay_status bind_tensors(const problem& p, std::span<const assay_tensor> given, bound_tensors& bound);

}  // namespace assay
