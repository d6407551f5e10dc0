#include "kernels/platform/cpu/checker/memory_map.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace assay::cpu {
namespace {

// 128 GiB of addresses; only pages in use cost memory.
constexpr std::uint64_t arena_words = std::uint64_t{1} << 34;

}  // namespace

bool memory_region::holds_strided(std::uint64_t offset, std::uint64_t size) const {
  // Row by row: vectors may run over a row's end.
  const std::uint64_t last = element_at(offset + size - 1);
  for (std::uint64_t element = element_at(offset); element <= last;) {
    std::uint64_t rest = element, run = 1;
    for (const dimension& d : joined) {
      const std::uint64_t index = d.index_of(rest);
      if (index >= d.extent) return false;
      rest -= index * d.stride;
      if (d.stride == 1) run = d.extent - index;
    }
    if (rest != 0) return false;
    element += run;
  }
  return true;
}

memory_region::run memory_region::run_at(std::uint64_t offset) const {
  if (is_dense) return {0, span_bytes};
  const std::uint64_t element = element_at(offset);
  std::uint64_t rest = element, index = 0, extent = 1;
  for (const dimension& d : joined) {
    if (d.stride == 1) index = rest, extent = d.extent;
    rest -= d.index_of(rest) * d.stride;
  }
  return {(element - index) * element_bytes, extent * element_bytes};
}

std::string memory_region::describe(std::int64_t offset) const {
  const auto width = static_cast<std::int64_t>(element_bytes);
  if (offset < 0) return name + ", " + std::to_string(-offset) + " bytes before its start";
  std::int64_t rest = offset / width;
  std::vector<std::int64_t> index(dimensions.size(), 0);
  for (const std::size_t d : by_stride) {
    const auto stride = static_cast<std::int64_t>(dimensions[d].stride);
    index[d] = rest / stride;
    rest %= stride;
  }
  std::string text = name + "[";
  for (std::size_t d = 0; d < index.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(index[d]);
  text += "]";
  if (rest != 0) text += " + " + std::to_string(rest) + " elements";
  if (offset % width != 0) text += " + " + std::to_string(offset % width) + " bytes";
  return text;
}

std::string memory_region::shape() const {
  std::string text = name + " of shape [";
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    text += (d == 0 ? "" : ", ") + std::to_string(dimensions[d].extent);
  if (is_dense) return text + "]";
  text += "] and strides [";
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    text += (d == 0 ? "" : ", ") + std::to_string(dimensions[d].stride);
  return text + "]";
}

namespace {

memory_role role_of(std::int32_t given) {
  switch (given) {
    case ASSAY_OUTPUT: return memory_role::output;
    case ASSAY_IN_OUT: return memory_role::in_out;
    default: return memory_role::input;
  }
}

}  // namespace

memory_region region_of(const assay_tensor& given) {
  const DLTensor& view = given.view;
  memory_region r;
  r.name = given.name;
  r.role = role_of(given.role);
  r.element_bytes = static_cast<std::uint64_t>((view.dtype.bits * view.dtype.lanes + 7) / 8);
  std::uint64_t reach = 1, elements = 1;
  for (int d = 0; d < view.ndim; ++d) {
    const auto extent = static_cast<std::uint64_t>(view.shape[d]);
    const auto stride = static_cast<std::uint64_t>(view.strides[d]);
    r.dimensions.push_back({extent, stride});
    elements *= extent;
    if (extent > 0) reach += (extent - 1) * stride;
    if (extent > 1 && stride > 0) r.by_stride.push_back(static_cast<std::size_t>(d));
  }
  if (view.data == nullptr || elements == 0) return r;
  std::sort(r.by_stride.begin(), r.by_stride.end(),
            [&](std::size_t a, std::size_t b) { return r.dimensions[a].stride > r.dimensions[b].stride; });
  r.low = reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset;
  r.span_bytes = reach * r.element_bytes;
  for (const std::size_t d : r.by_stride) {
    const memory_region::dimension& next = r.dimensions[d];
    if (!r.joined.empty() && r.joined.back().stride == next.extent * next.stride)
      r.joined.back() = {r.joined.back().extent * next.extent, next.stride, 1.0 / static_cast<double>(next.stride)};
    else
      r.joined.push_back({next.extent, next.stride, 1.0 / static_cast<double>(next.stride)});
  }
  // If each dimension fits into one step of the next wider one, an offset has at most one index.
  bool nested = true;
  std::uint64_t inner = 1, distinct = 1;
  for (auto d = r.by_stride.rbegin(); d != r.by_stride.rend(); ++d) {
    const memory_region::dimension& dimension = r.dimensions[*d];
    nested &= dimension.stride >= inner;
    inner += (dimension.extent - 1) * dimension.stride;
    distinct *= dimension.extent;
  }
  r.is_dense = !nested || distinct == reach;
  return r;
}

shadow_arena::shadow_arena() : words_(arena_words) {}

access_record* shadow_arena::take(std::uint64_t words) {
  if (words > words_.count() - used_) throw std::bad_alloc();
  access_record* const start = words_.data() + used_;
  used_ += words;
  return start;
}

}  // namespace assay::cpu
