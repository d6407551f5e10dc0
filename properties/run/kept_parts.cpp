#include "properties/run/kept_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace assay {
namespace {

/// The bytes of one index of the first axis, gaps inside of it included; of the last one without what follows it.
index_range bytes_of(const buffer& b, std::int64_t index) {
  const tensor& t = b.view();
  const std::int64_t element = size_bytes(t.type), begin = index * t.stride[0] * element;
  return {begin, std::min(begin + t.stride[0] * element, b.size_bytes())};
}

/// Copies the elements of one index of the first axis of `from` over `bytes`, which hold those of another buffer.
void copy_elements(const buffer& from, std::int64_t index, std::vector<std::byte>& bytes) {
  const tensor& t = from.view();
  const std::int64_t element = size_bytes(t.type), begin = index * t.stride[0] * element;
  const std::function<void(int, std::int64_t)> copy = [&](int d, std::int64_t offset) {
    const bool is_run = d == t.rank || (d == t.rank - 1 && t.stride[d] == 1);
    if (is_run) {
      const std::int64_t bytes_of_run = (d == t.rank ? 1 : t.shape[d]) * element;
      const auto place = from.bytes({begin + offset * element, begin + offset * element + bytes_of_run});
      std::ranges::copy(place, bytes.begin() + offset * element);
      return;
    }
    for (std::int64_t i = 0; i < t.shape[d]; ++i) copy(d + 1, offset + i * t.stride[d]);
  };
  copy(1, 0);
}

std::string complaint(const buffer& b, std::int64_t byte) {
  const std::int64_t first = byte / size_bytes(b.view().type) / std::max<std::int64_t>(b.view().stride[0], 1);
  return fmt::format("{} was written where it must not change: at index {} of its first axis, byte {} of {}", b.name(),
                     first, byte, b.size_bytes());
}

/// Of one tensor. `covered`: the indices of the first axis whose elements an enclosure judges, ascending.
std::string first_change(const buffer& before, const buffer& after, std::span<const std::int64_t> covered) {
  for (const index_range& r : before.accessible()) {
    std::int64_t at = r.begin;
    const auto differs_until = [&](std::int64_t end) {
      const auto was = before.bytes({at, end}), now = after.bytes({at, end});
      if (end > at && std::memcmp(was.data(), now.data(), was.size()) != 0) {
        at += std::ranges::mismatch(was, now).in1 - was.begin();
        return true;
      }
      at = end;
      return false;
    };
    for (const std::int64_t index : covered) {
      const index_range own = bytes_of(before, index);
      if (own.begin < r.begin || own.end > r.end) continue;
      if (differs_until(own.begin)) return complaint(before, at);
      const auto now = after.bytes(own), was = before.bytes(own);
      std::vector<std::byte> rest(now.begin(), now.end());
      copy_elements(before, index, rest);
      const auto changed = std::ranges::mismatch(was, rest);
      if (changed.in1 != was.end()) return complaint(before, own.begin + (changed.in1 - was.begin()));
      at = own.end;
    }
    if (differs_until(r.end)) return complaint(before, at);
  }
  return {};
}

}  // namespace

std::string first_kept_change(const inputs& before, const outputs& after, const oracle::enclosure& bounds) {
  for (const buffer& b : before.buffers) {
    if (b.role() != tensor_role::in_out) continue;
    const auto found = std::ranges::find(bounds.tensors, b.name(), &oracle::enclosed_tensor::name);
    std::vector<std::int64_t> covered;
    if (found != bounds.tensors.end() && found->indices) covered = *found->indices;
    if (std::string change = first_change(b, *find_buffer(after.buffers, b.name()), covered); !change.empty())
      return change;
  }
  return {};
}

}  // namespace assay
