#include "properties/inputs.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
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

template <typename Buffers>
std::vector<named_tensor> views_of(const Buffers& buffers) {
  std::vector<named_tensor> views;
  views.reserve(buffers.size());
  for (const buffer& b : buffers) views.push_back({b.name().c_str(), b.view()});
  return views;
}

}  // namespace

buffer::buffer(std::string name, dtype type, std::vector<std::int64_t> shape, std::vector<int> order)
    : name_(std::move(name)) {
  const auto rank = static_cast<int>(shape.size());
  assert(rank <= max_rank);
  if (order.empty()) {
    order.resize(shape.size());
    std::iota(order.begin(), order.end(), 0);
  }
  view_.type = type;
  view_.rank = rank;
  std::copy(shape.begin(), shape.end(), view_.shape);
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int dim = order[static_cast<std::size_t>(i)];
    view_.stride[dim] = stride;
    stride *= std::max<std::int64_t>(view_.shape[dim], 1);
  }
  element_bytes_ = view_.size() * size_bytes(type);
  const std::int64_t total = guard_bytes + alignment_bytes + element_bytes_ + guard_bytes;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(total));
  const auto after_guard = reinterpret_cast<std::uintptr_t>(memory_.get()) + guard_bytes;
  const auto padding = static_cast<std::int64_t>(-after_guard % alignment_bytes);
  lead_bytes_ = guard_bytes + padding;
  std::byte* elements = memory_.get() + lead_bytes_;
  view_.data = elements;
  for (std::int64_t i = 1; i <= guard_bytes; ++i) elements[-i] = guard_byte(-i);
  for (std::int64_t i = 0; i < guard_bytes; ++i) elements[element_bytes_ + i] = guard_byte(element_bytes_ + i);
  std::fill_n(elements, element_bytes_, unwritten);
}

std::span<std::byte> buffer::bytes() {
  return {static_cast<std::byte*>(view_.data), static_cast<std::size_t>(element_bytes_)};
}

std::span<const std::byte> buffer::bytes() const {
  return {static_cast<const std::byte*>(view_.data), static_cast<std::size_t>(element_bytes_)};
}

bool buffer::guards_intact(std::int64_t* first_changed_byte) const {
  if (memory_ == nullptr) return true;
  const std::byte* elements = memory_.get() + lead_bytes_;
  const auto changed = [&](std::int64_t i) {
    if (elements[i] == guard_byte(i)) return false;
    if (first_changed_byte != nullptr) *first_changed_byte = i;
    return true;
  };
  for (std::int64_t i = -guard_bytes; i < 0; ++i)
    if (changed(i)) return false;
  for (std::int64_t i = element_bytes_; i < element_bytes_ + guard_bytes; ++i)
    if (changed(i)) return false;
  return true;
}

std::vector<named_tensor> inputs::tensors() const {
  return views_of(buffers);
}
std::vector<named_tensor> outputs::tensors() const {
  return views_of(buffers);
}

outputs make_outputs(const problem& planned) {
  const std::int64_t rows = planned.total_q, heads = planned.heads_q, dim = planned.head_dim_v;
  outputs out;
  out.buffers.emplace_back("o", planned.o_type, std::vector<std::int64_t>{rows, heads, dim});
  out.buffers.emplace_back("lse", dtype::f32, std::vector<std::int64_t>{rows, heads});
  if (planned.num_splits > 1) {
    const std::int64_t splits = planned.num_splits;
    out.buffers.emplace_back("o_partial", dtype::f32, std::vector<std::int64_t>{splits, rows, heads, dim});
    out.buffers.emplace_back("lse_partial", dtype::f32, std::vector<std::int64_t>{splits, rows, heads});
  }
  return out;
}

}  // namespace assay
