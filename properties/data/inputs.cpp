#include "properties/data/inputs.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "oracle/enclosure.hpp"

namespace assay {
namespace {

constexpr std::int64_t alignment_bytes = 256;
constexpr std::byte unwritten{oracle::unwritten_byte};  // the judge knows unwritten elements by it

/// No two neighbouring guard bytes are equal, so neither a memset nor a run of equal elements can pass for a guard.
std::byte guard_byte(std::int64_t i) {
  return static_cast<std::byte>((0xA5 + 31 * i) & 0xFF);
}

/// The pattern repeats after 256 bytes: twice that has each of its phases whole.
constexpr std::int64_t guard_period = 256;
const std::byte* guard_bytes_from(std::int64_t i) {
  static const auto pattern = [] {
    std::array<std::byte, 2 * guard_period> bytes{};
    for (std::int64_t at = 0; at < std::ssize(bytes); ++at) bytes[static_cast<std::size_t>(at)] = guard_byte(at);
    return bytes;
  }();
  return pattern.data() + (i & (guard_period - 1));
}

/// Writes the pattern to [begin, end) of the bytes relative to `elements`.
void fill_guards(std::byte* elements, index_range r) {
  for (std::int64_t i = r.begin; i < r.end; i += guard_period)
    std::memcpy(elements + i, guard_bytes_from(i), static_cast<std::size_t>(std::min(guard_period, r.end - i)));
}

/// The first byte of the range that is not the pattern's, or the range's end.
std::int64_t first_changed_guard(const std::byte* elements, index_range r) {
  for (std::int64_t i = r.begin; i < r.end; i += guard_period) {
    const std::int64_t n = std::min(guard_period, r.end - i);
    if (std::memcmp(elements + i, guard_bytes_from(i), static_cast<std::size_t>(n)) == 0) continue;
    return i + (std::mismatch(elements + i, elements + i + n, guard_bytes_from(i)).first - (elements + i));
  }
  return r.end;
}

/// Strides in that memory order; no data yet.
tensor strided_view(dtype type, const std::vector<std::int64_t>& shape, std::vector<int> order,
                    const buffer_backing& backing) {
  tensor view;
  view.type = type;
  view.rank = static_cast<int>(shape.size());
  assert(view.rank <= max_rank);
  if (order.empty()) {
    order.resize(shape.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::ranges::copy(shape, view.shape);
  std::int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    const int dim = order[static_cast<std::size_t>(i)];
    if (dim == backing.shared_dimension) continue;
    view.stride[dim] = stride + (i == 0 ? backing.outer_gap : 0);
    stride = stride * std::max<std::int64_t>(view.shape[dim], 1) + backing.gap;
  }
  return view;
}

template <typename Buffers>
std::vector<named_tensor> views_of(const Buffers& buffers) {
  std::vector<named_tensor> views;
  views.reserve(buffers.size());
  for (const buffer& b : buffers) views.push_back({b.name().c_str(), b.view()});
  return views;
}

}  // namespace

std::int64_t extent(const tensor& t) {
  if (t.size() == 0) return 0;
  std::int64_t last = 0;
  for (int d = 0; d < t.rank; ++d) last += (t.shape[d] - 1) * t.stride[d];
  return last + 1;
}

buffer::buffer(std::string name, dtype type, const std::vector<std::int64_t>& shape, std::vector<int> order,
               buffer_backing backing)
    : buffer(guards_only{}, std::move(name), type, shape, std::move(order), std::move(backing)) {
  for (const index_range& r : accessible()) std::ranges::fill(bytes(r), unwritten);
  if (backing_.used) return;
  for (const index_range& r : gaps()) fill_guards(elements(), r);
}

buffer::buffer(guards_only, std::string name, dtype type, const std::vector<std::int64_t>& shape,
               std::vector<int> order, buffer_backing backing)
    : name_(std::move(name)),
      backing_(std::move(backing)),
      view_(strided_view(type, shape, std::move(order), backing_)) {
  backing_.flush_end = backing_.start_bytes == 0 && (backing_.flush_end || type == dtype::i32 || type == dtype::i64);
  element_bytes_ = extent(view_) * assay::size_bytes(type);
  if (is_sparse()) {
    memory_ = guarded_memory(element_bytes_, used_bytes());
    view_.data = memory_.body();
    const bool has_end = !memory_.accessible().empty() && memory_.accessible().back().end == memory_.body_bytes();
    if (has_end) back_guard_ = memory_.body_bytes() - element_bytes_;
  } else {
    front_guard_ = guard_bytes;
    // Rounded down to its alignment, the start moves by less than alignment_bytes: the front guard still fits.
    const std::int64_t behind = backing_.flush_end ? 0 : guard_bytes + alignment_bytes;
    memory_ = guarded_memory(front_guard_ + element_bytes_ + behind);
    const std::int64_t last_start = memory_.body_bytes() - element_bytes_ - (backing_.flush_end ? 0 : guard_bytes);
    const std::int64_t shift = backing_.start_bytes;
    const std::int64_t start =
        backing_.flush_end ? last_start : (last_start - shift) / alignment_bytes * alignment_bytes + shift;
    view_.data = memory_.body() + start;
    back_guard_ = memory_.body_bytes() - start - element_bytes_;
  }
  fill_guards(elements(), {-front_guard_, 0});
  fill_guards(elements(), {element_bytes_, element_bytes_ + back_guard_});
}

/// The bytes that a sparse buffer needs memory for.
std::vector<index_range> buffer::used_bytes() const {
  std::vector<index_range> used;
  if (element_bytes_ == 0) return used;
  if (backing_.used) {
    const std::int64_t index_bytes = view_.stride[0] * assay::size_bytes(view_.type);
    for (const index_range& r : *backing_.used)
      used.push_back({r.begin * index_bytes, std::min(r.end * index_bytes, element_bytes_)});
    return used;
  }
  const int outermost = assay::memory_order(view_).front();
  tensor one = view_;
  one.shape[outermost] = 1;
  const std::int64_t size = extent(one) * assay::size_bytes(view_.type);
  for (std::int64_t i = 0; i < view_.shape[outermost]; ++i) {
    const std::int64_t begin = i * view_.stride[outermost] * assay::size_bytes(view_.type);
    used.push_back({begin, begin + size});
  }
  return used;
}

std::vector<index_range> buffer::gaps() const {
  if (backing_.used) throw std::logic_error(name_ + " is sparse");
  std::vector<index_range> all;
  if ((backing_.gap == 0 && backing_.outer_gap == 0) || view_.size() == 0) return all;
  // Dimensions from the innermost outwards: rows end with the first one.
  std::vector<int> order = assay::memory_order(view_);
  std::erase(order, backing_.shared_dimension);
  std::ranges::reverse(order);
  const std::int64_t element = assay::size_bytes(view_.type), row = view_.shape[order[0]];
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < order.size(); ++i) rows *= view_.shape[order[i]];
  const std::vector<index_range> parts = accessible();
  std::size_t part = 0;
  const auto add_accessible = [&](index_range gap) {
    for (; part < parts.size() && parts[part].begin < gap.end; ++part) {
      const index_range clipped{std::max(gap.begin, parts[part].begin), std::min(gap.end, parts[part].end)};
      if (clipped.size() > 0) all.push_back(clipped);
      if (parts[part].end > gap.end) break;
    }
  };
  all.reserve(static_cast<std::size_t>(rows));
  std::int64_t index[max_rank] = {}, end = 0;
  for (std::int64_t left = rows; left > 0; --left) {
    const std::int64_t begin = view_.offset(index[0], index[1], index[2], index[3]);
    if (begin > end) add_accessible({end * element, begin * element});
    end = begin + row;
    for (std::size_t i = 1; i < order.size() && ++index[order[i]] == view_.shape[order[i]]; ++i) index[order[i]] = 0;
  }
  return all;
}

std::vector<index_range> buffer::accessible() const {
  if (!is_sparse())
    return element_bytes_ > 0 ? std::vector{index_range{0, element_bytes_}} : std::vector<index_range>{};
  std::vector<index_range> ranges = memory_.accessible();
  if (!ranges.empty()) ranges.back().end = std::min(ranges.back().end, element_bytes_);
  return ranges;
}

std::span<std::byte> buffer::bytes(index_range range) {
  return {elements() + range.begin, static_cast<std::size_t>(range.size())};
}

std::span<const std::byte> buffer::bytes(index_range range) const {
  return {elements() + range.begin, static_cast<std::size_t>(range.size())};
}

std::span<std::byte> buffer::bytes() {
  if (is_sparse()) throw std::logic_error(name_ + " is sparse");
  return bytes({0, element_bytes_});
}

std::span<const std::byte> buffer::bytes() const {
  if (is_sparse()) throw std::logic_error(name_ + " is sparse");
  return bytes({0, element_bytes_});
}

std::vector<index_range> buffer::used() const {
  return backing_.used.value_or(std::vector{index_range{0, view_.shape[0]}});
}

index_range buffer::reserved() const {
  const std::int64_t start = elements() - memory_.body();
  return {memory_.reserved().begin - start, memory_.reserved().end - start};
}

bool buffer::guards_intact(std::int64_t* first_changed_byte) const {
  for (const index_range& r : {index_range{-front_guard_, 0}, {element_bytes_, element_bytes_ + back_guard_}}) {
    const std::int64_t changed = first_changed_guard(elements(), r);
    if (changed == r.end) continue;
    if (first_changed_byte != nullptr) *first_changed_byte = changed;
    return false;
  }
  return true;
}

std::vector<named_tensor> inputs::tensors() const {
  return views_of(buffers);
}
std::vector<named_tensor> outputs::tensors() const {
  return views_of(buffers);
}

buffer* find_buffer(std::vector<buffer>& buffers, const std::string& name) {
  const auto at = std::ranges::find(buffers, name, &buffer::name);
  return at == buffers.end() ? nullptr : &*at;
}

const buffer* find_buffer(const std::vector<buffer>& buffers, const std::string& name) {
  const auto at = std::ranges::find(buffers, name, &buffer::name);
  return at == buffers.end() ? nullptr : &*at;
}

outputs make_outputs(const problem& planned, const output_layout& layout, const std::vector<std::string>& left_out) {
  outputs out;
  for (planned_tensor& t : plan_outputs(planned, layout)) {
    if (std::ranges::find(left_out, t.name) != left_out.end()) {
      out.left_out.push_back(std::move(t.name));
      continue;
    }
    buffer_backing backing;
    backing.gap = t.gap;
    backing.outer_gap = t.outer_gap;
    backing.is_far = t.is_far;
    backing.role = t.role;
    out.buffers.emplace_back(std::move(t.name), t.type, t.shape, std::move(t.order), std::move(backing));
  }
  return out;
}

outputs make_outputs(const problem& planned, const output_layout& layout, const inputs& in,
                     const std::vector<std::string>& left_out) {
  outputs out = make_outputs(planned, layout, left_out);
  for (const buffer& b : in.buffers)
    if (b.role() == tensor_role::in_out) out.buffers.push_back(copy_of(b));
  return out;
}

std::vector<int> memory_order(const tensor& t) {
  std::vector<int> order(static_cast<std::size_t>(t.rank));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order,
                    [&](int a, int b) { return t.stride[a] != t.stride[b] ? t.stride[a] > t.stride[b] : a < b; });
  return order;
}

buffer copy_of(const buffer& b) {
  const tensor& t = b.view();
  buffer same(buffer::guards_only{}, b.name(), t.type, {t.shape, t.shape + t.rank}, memory_order(t), b.backing());
  if (same.size_bytes() != b.size_bytes()) throw std::logic_error(b.name() + ": not dense");
  // By pointers: the library's copy of spans is a loop, which takes longer than memmove.
  for (const index_range& r : b.accessible()) std::copy_n(b.bytes(r).data(), r.size(), same.bytes(r).data());
  return same;
}

}  // namespace assay
