/// Which tiles a split takes, and a tile's keys and values as numbers.
#pragma once

#include <cstdint>

#include "oracle/paging.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// A sequence has T = ceil(keys / tile_keys) tiles. Split s takes [s c, min((s + 1) c, T)), where c = ceil(T' /
/// num_splits) and T' = T, or that of the problem's longest sequence (contract.hpp: split_rule).
struct split_plan {
  std::int64_t tiles;
  std::int64_t per_split;
  std::int64_t split_of(std::int64_t tile) const { return tile / per_split; }
};
split_plan plan_of(const problem_view& view, const contract& declared, std::int64_t seq);

/// Decodes keys [range.begin, range.end) of the tile that starts at key `first`. It leaves the other rows of `tile`
/// unchanged; they are never read. It does not read dead memory.
void decode_tile(const problem_view& view, std::int64_t seq, std::int64_t head_kv, std::int64_t first, key_range range,
                 decoded_tile& tile);

}  // namespace assay::oracle
