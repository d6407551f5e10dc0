#include "properties/run/input_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

bool is_copied(const buffer& b) {
  std::int64_t bytes = 0;
  for (const index_range& r : b.accessible()) bytes += r.size();
  return bytes <= input_snapshot::copied_bytes_max;
}

std::vector<std::byte> copy(const buffer& b) {
  std::vector<std::byte> all;
  for (const index_range& r : b.accessible()) all.insert(all.end(), b.bytes(r).begin(), b.bytes(r).end());
  return all;
}

/// Offset of the first byte that is not as it was, or nothing.
std::optional<std::int64_t> first_change(const buffer& b, const std::vector<std::byte>& before) {
  const std::byte* was = before.data();
  for (const index_range& r : b.accessible()) {
    const auto now = b.bytes(r);
    if (std::memcmp(now.data(), was, now.size()) != 0)
      return r.begin + (std::ranges::mismatch(now, std::span(was, now.size())).in1 - now.begin());
    was += now.size();
  }
  return std::nullopt;
}

}  // namespace

input_snapshot::input_snapshot(const std::vector<buffer>& in) : in_(in) {
  for (const buffer& b : in) copies_.push_back(is_copied(b) ? copy(b) : std::vector<std::byte>{});
  // Last: where a copy finds no memory, nothing may stay read-only for the memory's next owner.
  for (const buffer& b : in)
    if (!is_copied(b)) b.set_read_only(true);
}

input_snapshot::~input_snapshot() {
  for (const buffer& b : in_)
    if (!is_copied(b)) b.set_read_only(false);
}

std::string input_snapshot::first_change() const {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (!is_copied(in_[i])) continue;
    if (const auto at = assay::first_change(in_[i], copies_[i]))
      return fmt::format("input {} was written, at byte {} of {}", in_[i].name(), *at, in_[i].size_bytes());
  }
  return {};
}

}  // namespace assay
