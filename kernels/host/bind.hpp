/// Tensors of a call: looks them up by name and holds them to problem.hpp before anything is launched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/library.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// All tensors of problem.hpp. Those that a problem does not have, or that are optional and absent, have no data.
struct bound_tensors {
  tensor q, k, v, k_descale, v_descale;
  tensor cu_seqlens_q, seqlens_k, block_table, page_indptr, page_indices, prefix_offset, bias, sinks;
  tensor weights, k_row_scale;
  tensor k_new, v_new, slots, positions, rope_cos, rope_sin;
  tensor o, lse, o_partial, lse_partial, logits;
};

inline constexpr std::int64_t any_extent = -1;

/// What a kernel wants of one tensor.
struct expectation {
  const char* name;
  tensor bound_tensors::* to;
  dtype type;
  std::vector<std::int64_t> shape;  ///< any_extent: as given
  bool required = true;
  bool unit_last_stride = false;
  assay_tensor_role role = ASSAY_INPUT;  ///< what the kernel does to it; elements of what it writes do not overlap
  int vector_elements = 1;  ///< loads of that many elements: alignment of the start and of all but the last stride
};

/// The tensors that every attention kernel of this library has; a kernel adds its own.
std::vector<expectation> paged_attention_tensors(const problem& p);

/// Those that tell where a sequence's keys are.
std::vector<expectation> page_tables(const problem& p);

/// ASSAY_OK, or ASSAY_REJECTED with a message that names the tensor and what is wrong. `p` has passed check_problem.
/// Tensors that nobody expects are left alone.
assay_status bind_tensors(const problem& p, std::span<const expectation> expected, std::span<const assay_tensor> given,
                          bound_tensors& bound);

}  // namespace assay
