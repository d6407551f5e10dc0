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

/// The alignment of the first element that problem.hpp promises, and no more.
std::int64_t least_alignment(const planned_tensor& t) {
  const bool is_kv = t.content == tensor_content::keys || t.content == tensor_content::values;
  return size_bytes(t.type) * (is_kv ? 8 : 1);
}

/// The same elements at the least alignment, and in the reverse memory order where problem.hpp leaves it to the caller.
/// Sparse buffers stay: their pages are outermost, and the first one is aligned.
buffer laid_out_anew(const buffer& b, const planned_tensor& t) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 22;  // that one may move one by one
  if (b.is_sparse()) return copy_of(b);
  const tensor& from = b.view();
  buffer_backing backing = b.backing();
  backing.start_bytes = least_alignment(t);
  std::vector<int> order = memory_order(from);
  const bool is_turned = t.has_any_strides && from.size() <= most_elements;
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

void lay_out_anew(std::vector<buffer>& buffers, const std::vector<planned_tensor>& described) {
  for (buffer& b : buffers)
    if (const auto t = std::ranges::find(described, b.name(), &planned_tensor::name); t != described.end())
      b = laid_out_anew(b, *t);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(row_strides, lib, c);
  for (const layout& l : layouts) {
    attention_case other = c;
    other.row_margin = l.row_margin;
    other.input_margin = l.input_margin;
    if (r.decided() || other == c || !is_valid(other)) continue;  // a case at the limit of memory has no room
    inputs laid_out = fill(other);
    r.expect_same_bits(laid_out, other,
                       fmt::format("laying the rows of outputs {} elements apart and those of inputs {}", l.row_margin,
                                   l.input_margin));
  }
  if (r.decided()) return r.conclude();
  const auto expect_same_bits = [&](inputs edited, bool is_anew, const char* change, const redescription& how) {
    outputs written = make_outputs(r.base().planned, layout_of(c), edited);
    if (is_anew) lay_out_anew(written.buffers, plan_outputs(r.base().planned, layout_of(c)));
    if (const auto ran = r.run_into(std::move(written), edited, c, change, how))
      r.compare(r.base().written, ran->written, change);
  };
  expect_same_bits(fill(c), false, "giving dimensions of one element other strides, and addresses an offset",
                   redescribe);
  inputs moved = fill(c);
  lay_out_anew(moved.buffers, plan_tensors(c));
  expect_same_bits(std::move(moved), true, "laying tensors out in another order, at the least alignment", {});
  return r.conclude();
}

/// In a third of the cases a single sequence on a single page: then the pool and the tables have dimensions of one
/// element.
void adapt(attention_case& c) {
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
