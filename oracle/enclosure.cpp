#include "oracle/enclosure.hpp"

namespace assay::oracle {

void keep_padding(enclosed_tensor& t, std::size_t axis, std::int64_t first) {
  const std::int64_t count = t.shape[axis];
  if (first >= count) return;
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  t.kept.resize(t.elements.size());
  for (std::size_t flat = 0; flat < t.kept.size(); ++flat)
    if (static_cast<std::int64_t>(flat) / inner % count >= first)
      t.kept[flat] = static_cast<std::uint8_t>(element_rule::kept);
}

}  // namespace assay::oracle
