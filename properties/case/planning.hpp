/// Tensors that several operations share.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/case/planned_tensor.hpp"

namespace assay {

/// Sums and maxima over a case's sequences.
struct batch_extents {
  explicit batch_extents(const attention_case& c);
  std::int64_t num_seqs = 0;
  std::int64_t total_q = 0;
  std::int64_t max_k = 0;
  std::int64_t most_pages = 0;   ///< of a sequence
  std::int64_t total_pages = 0;  ///< of all sequences
};

/// Memory order of Q's dimensions.
std::vector<int> memory_order(q_layout order);

/// The pool of K or V, in the case's layout of it.
planned_tensor plan_pool(const attention_case& c, const char* name, dtype type, std::int64_t dim,
                         tensor_content content);

/// cu_seqlens_q in group mode, seqlens_k, and the page table.
void plan_tables(const attention_case& c, std::vector<planned_tensor>& planned);

}  // namespace assay
