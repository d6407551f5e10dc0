#include "properties/case/planning.hpp"

#include <algorithm>

namespace assay {

batch_extents::batch_extents(const attention_case& c)
    : num_seqs(static_cast<std::int64_t>(c.sequences.size())), total_q(c.padding_rows) {
  for (const sequence& s : c.sequences) {
    const auto pages = static_cast<std::int64_t>(s.pages.size());
    total_q += s.q;
    max_k = std::max<std::int64_t>(max_k, s.k);
    most_pages = std::max(most_pages, pages);
    total_pages += pages;
  }
}

std::vector<int> memory_order(q_layout order) {
  switch (order) {
    case q_layout::rows: return {0, 1, 2};
    case q_layout::heads: return {1, 0, 2};
    case q_layout::transposed: return {2, 1, 0};
  }
  return {0, 1, 2};
}

planned_tensor plan_pool(const attention_case& c, const char* name, dtype type, std::int64_t dim,
                         tensor_content content) {
  planned_tensor pool{name, type, {c.pool_pages, c.page_size, c.heads_kv, dim}};
  const bool is_other = content == tensor_content::values && c.v_has_other_layout;
  const bool is_nhd = (c.layout == pool_layout::nhd) != is_other;
  pool.order = is_nhd ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0, 2, 1, 3};
  pool.content = content;
  pool.is_pool = true;
  return pool;
}

void plan_tables(const attention_case& c, std::vector<planned_tensor>& planned) {
  const batch_extents batch(c);
  if (c.batching == q_batching::group)
    planned.push_back({.name = "cu_seqlens_q",
                       .type = dtype::i32,
                       .shape = {batch.num_seqs + 1},
                       .content = tensor_content::row_sums});
  planned.push_back(
      {.name = "seqlens_k", .type = dtype::i32, .shape = {batch.num_seqs}, .content = tensor_content::key_counts});
  if (c.page_table == page_table_kind::block_table) {
    planned.push_back({.name = "block_table",
                       .type = dtype::i32,
                       .shape = {batch.num_seqs, batch.most_pages + c.spare_table_entries},
                       .content = tensor_content::block_table});
    return;
  }
  planned.push_back(
      {.name = "page_indptr", .type = dtype::i32, .shape = {batch.num_seqs + 1}, .content = tensor_content::page_sums});
  planned.push_back({.name = "page_indices",
                     .type = dtype::i32,
                     .shape = {batch.total_pages + batch.num_seqs * c.spare_table_entries},
                     .content = tensor_content::page_list,
                     .has_free_rows = true});
}

}  // namespace assay
