#include "properties/data/edit.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "properties/case/operation.hpp"
#include "properties/data/difference.hpp"

namespace assay {
namespace {

std::vector<std::int64_t> shape_of(const tensor& t) {
  return {t.shape, t.shape + t.rank};
}

/// The same elements, none of them shared.
buffer spread_out(const buffer& b) {
  const tensor& from = b.view();
  buffer_backing backing = b.backing();
  backing.shared_dimension = -1;
  if (backing.is_far) backing.outer_gap = 0;
  backing.is_far = false;
  buffer to(b.name(), from.type, shape_of(from), {}, std::move(backing));
  for_each_index(from, [&](const std::vector<std::int64_t>& index) {
    set_bits(to.view(), offset_of(to.view(), index), bits_at(from, offset_of(from, index)));
  });
  return to;
}

tensor view_of(const inputs& in, const std::string& name) {
  const buffer* b = find_buffer(in.buffers, name);
  if (b == nullptr) throw std::logic_error("no input " + name);
  return b->view();
}

}  // namespace

buffer gather(const buffer& b, int axis, const std::vector<std::int64_t>& indices) {
  const tensor& from = b.view();
  std::vector<std::int64_t> shape = shape_of(from);
  shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(indices.size());
  const std::vector<int> order = memory_order(from);
  if (b.backing().used && axis == 0) throw std::logic_error(b.name() + ": sparse, its pages move by repage()");
  buffer to(b.name(), from.type, shape, order, b.backing());

  // In memory, b is [outer][axis][inner]. The inner part of an index moves as one, with the gaps inside.
  const auto depth = static_cast<std::size_t>(std::ranges::find(order, axis) - order.begin());
  tensor inner = from;
  for (std::size_t i = 0; i <= depth; ++i) inner.shape[order[i]] = 1;
  const std::int64_t element = size_bytes(from.type), inner_bytes = extent(inner) * element;
  if (inner_bytes == 0) return to;
  const auto gather_axis = [&](std::int64_t source, std::int64_t target) {
    for (std::size_t n = 0; n < indices.size(); ++n) {
      const std::int64_t at = (source + indices[n] * from.stride[axis]) * element;
      const std::int64_t put = (target + static_cast<std::int64_t>(n) * to.view().stride[axis]) * element;
      std::ranges::copy(b.bytes({at, at + inner_bytes}), to.bytes({put, put + inner_bytes}).begin());
    }
  };
  const std::function<void(std::size_t, std::int64_t, std::int64_t)> gather_outer =
      [&](std::size_t level, std::int64_t source, std::int64_t target) {
        if (level == depth) return gather_axis(source, target);
        const int d = order[level];
        // Of a sparse buffer only the used indices of the first axis are there.
        for (const index_range& run : d == 0 ? b.used() : std::vector<index_range>{{0, from.shape[d]}})
          for (std::int64_t i = run.begin; i < run.end; ++i)
            gather_outer(level + 1, source + i * from.stride[d], target + i * to.view().stride[d]);
      };
  gather_outer(0, 0, 0);
  return to;
}

inputs clone(const inputs& in) {
  inputs same{in.stated, {}};
  for (const buffer& b : in.buffers)
    same.buffers.push_back(b.backing().shared_dimension < 0 ? copy_of(b) : spread_out(b));
  return same;
}

outputs clone(const outputs& out) {
  outputs same;
  for (const buffer& b : out.buffers) same.buffers.push_back(copy_of(b));
  for (const buffer& b : out.rules) same.rules.push_back(copy_of(b));
  return same;
}

void gather_input(inputs& in, const std::string& name, int axis, const std::vector<std::int64_t>& indices) {
  if (buffer* b = find_buffer(in.buffers, name)) *b = gather(*b, axis, indices);
}

outputs gather_outputs(const outputs& out, output_axis axis, const std::vector<std::int64_t>& indices) {
  const auto gather_each = [&](const std::vector<buffer>& from) {
    std::vector<buffer> gathered;
    for (const buffer& b : from) {
      const int first = b.name().ends_with("_partial") ? 1 : 0;  // the partials have the split before the row
      gathered.push_back(gather(b, first + (axis == output_axis::heads ? 1 : 0), indices));
    }
    return gathered;
  };
  return {gather_each(out.buffers), gather_each(out.rules), out.left_out};
}

std::vector<std::int64_t> permutation(std::int64_t size, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::mt19937_64 random(seed);  // its sequence is standardised; std::shuffle's use of it is not
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  // An identity would test nothing.
  if (size > 1 && std::ranges::is_sorted(order)) std::ranges::rotate(order, order.begin() + 1);
  return order;
}

std::int32_t& i32_at(inputs& in, const std::string& name, std::int64_t i0, std::int64_t i1) {
  const tensor t = view_of(in, name);
  return static_cast<std::int32_t*>(t.data)[t.offset(i0, i1)];
}

std::int32_t i32_at(const inputs& in, const std::string& name, std::int64_t i0, std::int64_t i1) {
  const tensor t = view_of(in, name);
  return static_cast<const std::int32_t*>(t.data)[t.offset(i0, i1)];
}

std::int64_t keys_of(const inputs& in, std::int64_t s) {
  return i32_at(in, "seqlens_k", s);
}

std::int64_t first_row_of(const inputs& in, std::int64_t s) {
  if (in.stated.batching == q_batching::batch) return s * in.stated.max_q;
  return i32_at(in, "cu_seqlens_q", s);
}

std::int64_t rows_of(const inputs& in, std::int64_t s) {
  return first_row_of(in, s + 1) - first_row_of(in, s);
}

std::int32_t& page_entry(inputs& in, std::int64_t s, std::int64_t ordinal) {
  if (in.stated.page_table == page_table_kind::block_table) return i32_at(in, "block_table", s, ordinal);
  return i32_at(in, "page_indices", i32_at(in, "page_indptr", s) + ordinal);
}

std::int32_t page_entry(const inputs& in, std::int64_t s, std::int64_t ordinal) {
  if (in.stated.page_table == page_table_kind::block_table) return i32_at(in, "block_table", s, ordinal);
  return i32_at(in, "page_indices", i32_at(in, "page_indptr", s) + ordinal);
}

void for_each_page(inputs& in, const std::function<void(std::int64_t, std::int64_t, std::int32_t&)>& visit) {
  const std::int64_t page_size = in.stated.page_size;
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s)
    for (std::int64_t ordinal = 0; ordinal * page_size < keys_of(in, s); ++ordinal)
      visit(s, ordinal, page_entry(in, s, ordinal));
}

bool is_visible(const inputs& in, std::int64_t s, std::int64_t i, std::int64_t j) {
  const bool has_prefix = find_buffer(in.buffers, "prefix_offset") != nullptr;
  const std::int64_t position = i + (has_prefix ? i32_at(in, "prefix_offset", s) : keys_of(in, s) - rows_of(in, s));
  return visibility_of(in.stated).seen(position, std::numeric_limits<std::int64_t>::max()).contains(j);
}

}  // namespace assay
