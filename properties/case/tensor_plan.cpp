#include "properties/case/tensor_plan.hpp"

#include <algorithm>
#include <numeric>

#include "properties/case/operation.hpp"

namespace assay {

namespace {

/// What else lies between the rows or the pages of a tensor that is packed: what the others have there.
std::int64_t packed_gap(const attention_case& c, const planned_tensor& t) {
  using enum tensor_content;
  const std::int64_t page = std::int64_t{c.page_size} * c.heads_kv;
  const bool has_values = (describe(c).capabilities & assay::has_values) != 0;
  switch (t.content) {
    case queries:
    case rows_of_any_size: return std::int64_t{c.heads_kv} * (c.head_dim_qk + (has_values ? c.head_dim_v : 0));
    case keys: return has_values ? page * c.head_dim_v : 0;
    case values: return page * c.head_dim_qk;
    default: return 0;
  }
}

/// Moves a dimension outermost and its indices apart, as output_layout says.
void place_far(planned_tensor& t, std::int32_t dimension) {
  const int rank = static_cast<int>(t.shape.size());
  if (dimension == 0 || rank < 2 || t.is_pool) return;
  const int far = std::min<int>(dimension, rank - 1) - 1;
  const std::int64_t count = t.shape[static_cast<std::size_t>(far)];
  if (count < 2 || count > far_indices_max || far == t.shared_dimension) return;
  planned_tensor one = t;  // one index of that dimension, up to where the next one would begin
  if (one.order.empty()) {
    one.order.resize(t.shape.size());
    std::iota(one.order.begin(), one.order.end(), 0);
  }
  const auto at = std::ranges::find(one.order, far);
  std::rotate(one.order.begin(), at, at + 1);
  one.shape[static_cast<std::size_t>(far)] = 1;
  one.outer_gap = 0;
  const std::optional<std::int64_t> near_bytes = checked_bytes(one);
  if (!near_bytes || *near_bytes == 0) return;
  constexpr std::int64_t step = 256;  // in elements: rows keep every alignment that a kernel may ask for
  const std::int64_t near = *near_bytes / size_bytes(t.type);
  const std::int64_t wanted = far_bytes / size_bytes(t.type) / (count - 1);
  const std::int64_t stride = (wanted / step + 1) * step;
  if (stride <= near) return;
  t.order = std::move(one.order);
  t.outer_gap = stride - near;
  t.is_far = true;
}

}  // namespace

output_layout layout_of(const attention_case& c) {
  return {c.row_margin, c.far_dimension};
}

std::vector<planned_tensor> plan_tensors(const attention_case& c) {
  constexpr std::int64_t pool_step = 8;  // problem.hpp: all strides of K and V are multiples of it
  const std::int64_t pool_gap =
      c.k_order == key_order::preshuffled ? 0 : (c.input_margin + pool_step - 1) / pool_step * pool_step;
  std::vector<planned_tensor> planned = describe(c).inputs(c);
  for (planned_tensor& t : planned) {
    const bool is_kv = t.content == tensor_content::keys || t.content == tensor_content::values;
    t.gap = is_kv ? pool_gap : std::int64_t{t.margins} * c.input_margin;
    if (c.packing == tensor_packing::packed) t.outer_gap = packed_gap(c, t);
    place_far(t, c.far_dimension);
  }
  return planned;
}

std::vector<planned_tensor> plan_outputs(const problem& planned, const output_layout& layout) {
  std::vector<planned_tensor> all = describe(planned.operation).outputs(planned);
  for (planned_tensor& t : all) {
    t.role = tensor_role::output;
    t.gap = layout.row_margin;
    place_far(t, layout.far_dimension);
  }
  return all;
}

std::optional<std::int64_t> checked_bytes(const planned_tensor& t) {
  if (std::ranges::find(t.shape, 0) != t.shape.end()) return 0;
  std::int64_t elements = 1, bytes = 0;
  for (std::size_t i = t.shape.size(); i-- > 0;) {
    const std::size_t dim = t.order.empty() ? i : static_cast<std::size_t>(t.order[i]);
    if (static_cast<int>(dim) == t.shared_dimension) continue;
    if (__builtin_mul_overflow(elements, t.shape[dim], &elements)) return std::nullopt;
    if (i > 0 && __builtin_add_overflow(elements, t.gap + (i == 1 ? t.outer_gap : 0), &elements)) return std::nullopt;
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

bool sees(const attention_case& c, const sequence& s, std::int64_t row, std::int64_t key) {
  return visibility_of(c).seen(first_position(s) + row, s.k).contains(key);
}

}  // namespace assay
