#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Margins of outputs and of inputs. Dense; the least, which no vector's alignment survives; and the widest load of
/// any GPU here, 16 bytes, of every type (K and V get no other).
struct layout {
  std::int32_t row_margin;
  std::int32_t input_margin;
};
constexpr layout layouts[] = {{0, 0}, {1, 1}, {16, 16}};

/// The same call in other words: a dimension of one element has some stride, and an address is the sum of two numbers.
void redescribe(std::vector<assay_tensor>& tensors) {
  constexpr std::int64_t free_strides[] = {(std::int64_t{1} << 40) + 1, 0, -5, 3};
  constexpr std::uint64_t offset_bytes = 192;
  std::size_t next = 0;
  for (assay_tensor& t : tensors) {
    for (int d = 0; d < t.view.ndim; ++d)
      if (t.view.shape[d] == 1) t.view.strides[d] = free_strides[next++ % std::size(free_strides)];
    if (t.view.data == nullptr) continue;
    t.view.data = static_cast<std::byte*>(t.view.data) - offset_bytes;
    t.view.byte_offset = offset_bytes;
  }
}

/// The alignment of the first element that problem.hpp promises, and no more; but for rows what the kernel asks for.
std::int64_t least_alignment(const planned_tensor& t, const assay_support& takes) {
  using enum tensor_content;
  const bool is_kv = t.content == keys || t.content == values;
  const bool has_rows =
      is_kv || t.content == queries || t.content == rows_of_any_size || t.name == "o" || t.name == "o_partial";
  const std::int64_t asked = !has_rows                       ? 1
                             : t.role == tensor_role::output ? takes.output_alignment
                                                             : takes.input_alignment;
  constexpr std::int64_t most_bytes = 16;
  return std::max(size_bytes(t.type) * (is_kv ? 8 : 1), std::min(size_bytes(t.type) * asked, most_bytes));
}

/// A margin that the kernel takes.
std::int32_t taken(std::int32_t margin, std::int32_t lacks, std::int32_t alignment) {
  const std::int32_t step = std::max(alignment, 1);
  return lacks != 0 ? 0 : (margin + step - 1) / step * step;
}

/// The same elements at the least alignment, and in the reverse memory order where problem.hpp leaves it to the caller.
/// Sparse buffers stay: their pages are outermost, and the first one is aligned.
buffer laid_out_anew(const buffer& b, const planned_tensor& t, const assay_support& takes) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 22;  // that one may move one by one
  if (b.is_sparse()) return copy_of(b);
  const tensor& from = b.view();
  buffer_backing backing = b.backing();
  backing.start_bytes = least_alignment(t, takes);
  std::vector<int> order = memory_order(from);
  const bool is_turned = t.has_any_strides && takes.no_q_transposed == 0 && from.size() <= most_elements;
  if (is_turned) std::ranges::reverse(order);
  buffer to(b.name(), from.type, t.shape, order, std::move(backing));
  if (is_turned)
    for_each_index(from, [&](const std::vector<std::int64_t>& index) {
      set_bits(to.view(), offset_of(to.view(), index), bits_at(from, offset_of(from, index)));
    });
  else
    std::ranges::copy(b.bytes(), to.bytes().begin());
  return to;
}

void lay_out_anew(std::vector<buffer>& buffers, const std::vector<planned_tensor>& described,
                  const assay_support& takes) {
  for (buffer& b : buffers)
    if (const auto t = std::ranges::find(described, b.name(), &planned_tensor::name); t != described.end())
      b = laid_out_anew(b, *t, takes);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(row_strides, lib, c);
  const assay_support& takes = r.takes();
  for (const layout& l : layouts) {
    attention_case other = c;
    other.row_margin = taken(l.row_margin, takes.no_output_margins, takes.output_alignment);
    other.input_margin = taken(l.input_margin, takes.no_input_margins, takes.input_alignment);
    if (r.decided() || other == c || !is_valid(other)) continue;  // a case at the limit of memory has no room
    inputs laid_out = fill(other);
    r.expect_same_bits(laid_out, other,
                       fmt::format("laying the rows of outputs {} elements apart and those of inputs {}",
                                   other.row_margin, other.input_margin));
  }
  if (r.decided()) return r.conclude();
  const auto expect_same_bits = [&](inputs edited, bool is_anew, const char* change, const redescription& how) {
    outputs written = r.unwritten(edited);
    if (is_anew) lay_out_anew(written.buffers, plan_outputs(r.base().planned, layout_of(c)), takes);
    if (const auto ran = r.run_into(std::move(written), edited, c, change, how))
      r.compare(r.base().written, ran->written, change);
  };
  expect_same_bits(fill(c), false, "giving dimensions of one element other strides, and addresses an offset",
                   redescribe);
  inputs moved = fill(c);
  lay_out_anew(moved.buffers, plan_tensors(c), takes);
  expect_same_bits(std::move(moved), true, "laying tensors out in another order, at the least alignment", {});
  return r.conclude();
}

/// In a third of the cases a single sequence on a single page: then the pool and the tables have dimensions of one
/// element.
void adapt(attention_case& c, const assay_support& /*takes*/) {
  if (c.data.seed % 3 != 1 || c.sequences.empty()) return;
  c.sequences.resize(1);
  sequence& only = c.sequences.front();
  only.k = std::min(only.k, c.page_size);
  only.pages.resize(std::min<std::size_t>(only.pages.size(), 1));
  std::ranges::fill(only.pages, 0);
  c.pool_pages = 1;
  c.spare_table_entries = 0;
}

}  // namespace

const property row_strides{"row_strides", "where a tensor lies, and with which strides, does not change any output bit",
                           check, adapt};

}  // namespace assay::relations
