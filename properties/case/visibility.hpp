/// Which keys a query row sees: the suite's one copy of problem.hpp's definition.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay {

/// Keys [first, end); empty ranges have first == end.
struct key_range {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool contains(std::int64_t key) const { return key >= first && key < end; }
};

struct visibility {
  bool is_causal = false;
  std::int64_t window = 0;  ///< keys up to and including the row's own position; 0: all

  /// Of `keys` keys, those that rows see whose positions are first_position .. last_position. A window is at least one
  /// key wide and positions follow each other, so the union over the rows has no gap.
  key_range seen(std::int64_t first_position, std::int64_t last_position, std::int64_t keys) const {
    const std::int64_t first = window == 0 ? 0 : std::max<std::int64_t>(0, first_position - window + 1);
    const std::int64_t end = is_causal ? std::min(keys, last_position + 1) : keys;
    return first < end ? key_range{first, end} : key_range{};
  }
  key_range seen(std::int64_t position, std::int64_t keys) const { return seen(position, position, keys); }
};

}  // namespace assay
