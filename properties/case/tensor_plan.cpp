#include "properties/case/tensor_plan.hpp"

#include <algorithm>

namespace assay {
namespace {

/// Whether keys behind a row's position are hidden from it.
bool is_causal(const attention_case& c) {
  return c.causal || !computes_attention(c.kernel);
}

/// Position of the sequence's first query row.
std::int64_t first_position(const sequence& s) {
  return s.prefix_offset ? *s.prefix_offset : std::int64_t{s.k} - s.q;
}

std::vector<int> memory_order(q_layout order) {
  switch (order) {
    case q_layout::rows: return {0, 1, 2};
    case q_layout::heads: return {1, 0, 2};
    case q_layout::transposed: return {2, 1, 0};
  }
  return {0, 1, 2};
}

}  // namespace

std::vector<planned_tensor> plan_tensors(const attention_case& c) {
  const auto num_seqs = static_cast<std::int64_t>(c.sequences.size());
  std::int64_t total_q = 0, max_k = 0, most_pages = 0, total_pages = 0;
  for (const sequence& s : c.sequences) {
    const auto pages = static_cast<std::int64_t>(s.pages.size());
    total_q += s.q;
    max_k = std::max<std::int64_t>(max_k, s.k);
    most_pages = std::max(most_pages, pages);
    total_pages += pages;
  }
  const std::vector<int> pool_order =
      c.layout == pool_layout::nhd ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0, 2, 1, 3};

  constexpr std::int64_t pool_step = 8;  // problem.hpp: all strides of K and V are multiples of it
  const std::int64_t pool_gap =
      c.k_order == key_order::preshuffled ? 0 : (c.input_margin + pool_step - 1) / pool_step * pool_step;

  std::vector<planned_tensor> planned{
      {"q", c.q_type, {total_q, c.heads_q, c.head_dim_qk}, memory_order(c.q_order)},
      {"k", c.kv_type, {c.pool_pages, c.page_size, c.heads_kv, c.head_dim_qk}, pool_order, true},
  };
  if (computes_attention(c.kernel)) {
    planned.push_back({"v", v_type(c), {c.pool_pages, c.page_size, c.heads_kv, c.head_dim_v}, pool_order, true});
  } else {
    planned.push_back({"weights", dtype::f32, {total_q, c.heads_q}, {}});
    planned.push_back({"k_row_scale", dtype::f32, {c.pool_pages, c.page_size}, {}, true});
  }
  if (c.kv_descale == descale_kind::per_page)
    for (const char* name : {"k_descale", "v_descale"})
      planned.push_back({name, dtype::f32, {c.pool_pages, c.heads_kv}, {}, true});
  if (c.batching == q_batching::group) planned.push_back({"cu_seqlens_q", dtype::i32, {num_seqs + 1}, {}});
  planned.push_back({"seqlens_k", dtype::i32, {num_seqs}, {}});
  if (c.page_table == page_table_kind::block_table) {
    planned.push_back({"block_table", dtype::i32, {num_seqs, most_pages + c.spare_table_entries}, {}});
  } else {
    planned.push_back({"page_indptr", dtype::i32, {num_seqs + 1}, {}});
    planned.push_back({"page_indices", dtype::i32, {total_pages + num_seqs * c.spare_table_entries}, {}});
  }
  if (num_seqs > 0 && c.sequences.front().prefix_offset)
    planned.push_back({"prefix_offset", dtype::i32, {num_seqs}, {}});
  if (c.bias_type != dtype::none) planned.push_back({"bias", c.bias_type, {c.heads_q, total_q, max_k}, {}});
  if (c.sinks) planned.push_back({"sinks", dtype::f32, {c.heads_q}, {}});
  for (planned_tensor& t : planned) t.gap = t.name == "k" || t.name == "v" ? pool_gap : c.input_margin;
  return planned;
}

std::vector<planned_tensor> plan_outputs(const problem& planned, std::int64_t row_margin) {
  const std::int64_t rows = planned.total_q, heads = planned.heads_q, dim = planned.head_dim_v;
  const std::int64_t splits = planned.num_splits;
  std::vector<planned_tensor> all;
  if (planned.operation == operation_kind::mqa_logits) {
    all.push_back({"logits", dtype::f32, {rows, planned.max_model_len}, {}});
  } else {
    all.push_back({"o", planned.o_type, {rows, heads, dim}, {}});
    all.push_back({"lse", dtype::f32, {rows, heads}, {}});
    if (splits > 1) {
      all.push_back({"o_partial", dtype::f32, {splits, rows, heads, dim}, {}});
      all.push_back({"lse_partial", dtype::f32, {splits, rows, heads}, {}});
    }
  }
  for (planned_tensor& t : all) t.gap = row_margin;
  return all;
}

std::optional<std::int64_t> checked_bytes(const planned_tensor& t) {
  if (std::ranges::find(t.shape, 0) != t.shape.end()) return 0;
  std::int64_t elements = 1, bytes = 0;
  for (std::size_t i = t.shape.size(); i-- > 0;) {
    const std::size_t dim = t.order.empty() ? i : static_cast<std::size_t>(t.order[i]);
    if (__builtin_mul_overflow(elements, t.shape[dim], &elements)) return std::nullopt;
    if (i > 0 && __builtin_add_overflow(elements, t.gap, &elements)) return std::nullopt;
  }
  if (__builtin_mul_overflow(elements, size_bytes(t.type), &bytes)) return std::nullopt;
  return bytes;
}

bool is_sparse(const planned_tensor& t) {
  return checked_bytes(t).value_or(dense_pool_bytes_max + 1) > dense_pool_bytes_max;
}

std::vector<std::int64_t> pages_in_use(const attention_case& c) {
  std::vector<std::int64_t> pages;
  for (const sequence& s : c.sequences) pages.insert(pages.end(), s.pages.begin(), s.pages.end());
  std::ranges::sort(pages);
  const auto repeated = std::ranges::unique(pages);
  pages.erase(repeated.begin(), repeated.end());
  return pages;
}

std::vector<index_range> joined(std::vector<index_range> ranges) {
  std::ranges::sort(ranges, {}, &index_range::begin);
  std::vector<index_range> runs;
  for (const index_range& r : ranges) {
    if (!runs.empty() && r.begin <= runs.back().end)
      runs.back().end = std::max(runs.back().end, r.end);
    else
      runs.push_back(r);
  }
  return runs;
}

key_range visible_keys(const attention_case& c, const sequence& s) {
  if (s.q == 0 || s.k == 0) return {};
  const std::int64_t first_p = first_position(s);
  const std::int64_t last_p = first_p + s.q - 1;
  const std::int64_t first = c.window == 0 ? 0 : std::max<std::int64_t>(0, first_p - c.window + 1);
  const std::int64_t end = is_causal(c) ? std::min<std::int64_t>(s.k, last_p + 1) : s.k;
  return first < end ? key_range{first, end} : key_range{};
}

bool sees(const attention_case& c, const sequence& s, std::int64_t row, std::int64_t key) {
  const std::int64_t p = first_position(s) + row;
  return key < s.k && (!is_causal(c) || key <= p) && (c.window == 0 || key > p - c.window);
}

}  // namespace assay
