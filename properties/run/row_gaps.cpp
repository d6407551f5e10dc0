#include "properties/run/row_gaps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace assay {
namespace {

/// The index that the strides give for a byte of a gap: one coordinate is past its extent.
std::string where(const buffer& b, std::int64_t byte) {
  const tensor& t = b.view();
  std::vector<std::int64_t> index;
  std::int64_t rest = byte / size_bytes(t.type);
  index.resize(static_cast<std::size_t>(t.rank));
  for (const int d : memory_order(t)) {
    index[static_cast<std::size_t>(d)] = rest / t.stride[d];
    rest %= t.stride[d];
  }
  return fmt::format("{} was written between its rows: at [{}] of [{}], byte {} of {}", b.name(),
                     fmt::join(index, ", "), fmt::join(std::span(t.shape, static_cast<std::size_t>(t.rank)), ", "),
                     byte, b.size_bytes());
}

}  // namespace

row_gaps::row_gaps(const std::vector<buffer>& buffers) {
  for (const buffer& b : buffers) {
    if (b.backing().used) continue;  // a pool that is in-out: kept_parts compares it whole
    held_gaps& now = all_.emplace_back(&b, b.gaps(), std::vector<std::byte>{});
    std::int64_t bytes = 0;
    for (const index_range& gap : now.gaps) bytes += gap.size();
    now.held.reserve(static_cast<std::size_t>(bytes));
    for (const index_range& gap : now.gaps) now.held.insert(now.held.end(), b.bytes(gap).begin(), b.bytes(gap).end());
  }
}

std::string row_gaps::first_change() const {
  for (const held_gaps& before : all_) {
    const std::byte* was = before.held.data();
    for (const index_range& gap : before.gaps) {
      const auto now = before.of->bytes(gap);
      if (std::memcmp(now.data(), was, now.size()) != 0)
        return where(*before.of,
                     gap.begin + (std::ranges::mismatch(now, std::span(was, now.size())).in1 - now.begin()));
      was += now.size();
    }
  }
  return {};
}

}  // namespace assay
