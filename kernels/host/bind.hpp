/// Tensors of a call: finds them by name and checks them against problem.hpp before the launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/library.h"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// Tensors that several kernels have; a kernel adds its own. A tensor that the problem does not have, or that is
/// optional and absent, has no data.
struct paged_tensors {
  tensor q, k, v, k_descale, v_descale;
  tensor cu_seqlens_q, seqlens_k, block_table, page_indptr, page_indices, prefix_offset;
  tensor o, lse;
};

/// All tensors of attention with one scale per tensor.
struct attention_tensors : paged_tensors {
  tensor bias, sinks, o_partial, lse_partial;
};

inline constexpr std::int64_t any_extent = -1;

/// What a kernel wants of one tensor.
struct expectation {
  const char* name;
  tensor* to;
  dtype type;
  std::vector<std::int64_t> shape;  ///< any_extent: as given
  bool required = true;
  bool unit_last_stride = true;          ///< unless problem.hpp leaves all strides to the caller
  assay_tensor_role role = ASSAY_INPUT;  ///< how the kernel uses it; elements of a written tensor do not overlap
  int vector_elements = 1;               ///< elements per load: aligns the start and all strides but the last
  std::int64_t least_columns = 0;        ///< of the last dimension
};

/// The tensors that every attention kernel of this library has, bound to those of `to`.
std::vector<expectation> paged_attention_tensors(const problem& p, paged_tensors& to);

/// The same with bias, sinks and the partials of splits, where the problem has them.
std::vector<expectation> attention_tensors_of(const problem& p, attention_tensors& to);

/// The tensors that say where the keys of a sequence are.
std::vector<expectation> page_tables(const problem& p, paged_tensors& to);

/// ASSAY_OK, or ASSAY_REJECTED with a message that names the tensor and what is wrong. The problem has passed
/// check_problem. Ignores tensors that are not in `expected`.
assay_status bind_tensors(std::span<const expectation> expected, std::span<const assay_tensor> given);

}  // namespace assay
