#include "properties/row_gaps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

row_gaps::row_gaps(const std::vector<buffer>& buffers) {
  for (const buffer& b : buffers) {
    if (b.backing().row_gap == 0) continue;
    const tensor& t = b.view();
    const std::int64_t element = size_bytes(t.type), row = t.stride[0] * element;
    for (std::int64_t i = 0; i < t.shape[0]; ++i) {
      const index_range bytes{(i + 1) * row - b.backing().row_gap * element, (i + 1) * row};
      const auto held = b.bytes(bytes);
      gaps_.push_back({&b, bytes, {held.begin(), held.end()}});
    }
  }
}

std::string row_gaps::first_change() const {
  for (const gap& g : gaps_) {
    const auto now = g.of->bytes(g.bytes);
    const auto at = std::ranges::mismatch(now, g.held).in1 - now.begin();
    if (at == std::ssize(now)) continue;
    const tensor& t = g.of->view();
    const std::int64_t element = (g.bytes.begin + at) / size_bytes(t.type);
    return fmt::format("{} was written between its rows: row {}, element {} of {}", g.of->name(), element / t.stride[0],
                       element % t.stride[0], t.stride[0] - g.of->backing().row_gap);
  }
  return {};
}

}  // namespace assay
