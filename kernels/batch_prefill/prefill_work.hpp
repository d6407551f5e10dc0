/// Which rows, keys and tiles a block of batch_prefill works on.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/device/vector.hpp"

namespace assay {

struct prefill_work {
  std::int32_t sequence, head, kv_head;
  std::int64_t first_query;  ///< the sequence's first row in q
  std::int32_t first_row;    ///< of the block, counted in the sequence
  std::int32_t rows;         ///< of the sequence
  std::int32_t num_keys;
  std::int64_t position;      ///< of the sequence's query row 0
  std::int32_t visible_keys;  ///< keys from there on no row of the block sees
  std::int32_t tiles;         ///< of prefill_tile_keys

  /// Keys from there on are hidden from the row.
  __device__ std::int32_t visible_to(const prefill_arguments& a, std::int32_t row) const {
    if (row >= rows) return 0;
    if (a.causal == 0) return num_keys;
    const std::int64_t end = position + row + 1;
    return static_cast<std::int32_t>(device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(end, num_keys)));
  }
};

/// Of `block`, which counts heads, innermost, times row tiles times sequences.
__device__ inline prefill_work find_prefill_work(const prefill_arguments& a, std::int32_t block) {
  prefill_work w;
  // Heads that share keys are neighbours. The last rows come first: with a causal mask they have most keys, and short
  // blocks fill the end.
  const std::int32_t of_row_tile = block / a.heads_q, row_tile = a.row_tiles - 1 - of_row_tile % a.row_tiles;
  w.sequence = of_row_tile / a.row_tiles;
  w.head = block % a.heads_q;
  w.kv_head = w.head / a.group;
  w.first_row = row_tile * a.shape.rows;
  if (a.cu_seqlens_q != nullptr) {
    w.first_query = a.cu_seqlens_q[w.sequence];
    w.rows = a.cu_seqlens_q[w.sequence + 1] - a.cu_seqlens_q[w.sequence];
  } else {
    w.first_query = std::int64_t{w.sequence} * a.max_q;
    w.rows = a.max_q;
  }
  w.num_keys = a.seqlens_k[w.sequence];
  // Positions may lie before the first key or far behind the last: 64 bits.
  w.position = a.prefix_offset != nullptr ? a.prefix_offset[w.sequence] : std::int64_t{w.num_keys} - w.rows;
  w.visible_keys = w.visible_to(a, device::min_of(w.rows, w.first_row + a.shape.rows) - 1);
  w.tiles = (w.visible_keys + prefill_tile_keys - 1) / prefill_tile_keys;
  return w;
}

}  // namespace assay
