/// Which rows, keys and columns a block of mqa_logits works on.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/vector.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"

namespace assay {

/// Columns past max_model_len do not exist: of a longer context, which no legal problem has, only the keys below it are
/// looked at.
struct mqa_work {
  std::int32_t sequence;
  std::int32_t rows;           ///< query rows of the block
  std::int64_t query;          ///< the first one's row of q, weights and logits
  std::int32_t first_visible;  ///< keys that row 0 would see of a long context: others see one more each
  std::int32_t visible;        ///< keys [0, visible) are visible to the last row, which sees most
  std::int32_t first;          ///< the block's columns: [first, last); first is a multiple of a group's keys, unless
                               ///< there are none
  std::int32_t last;
  std::int32_t end;  ///< columns [first, end) are computed: in whole groups, so `end` may pass `last`

  __device__ bool sees(std::int32_t row, std::int32_t key) const { return key < visible && key < first_visible + row; }
  __device__ bool owns(std::int32_t column) const { return first <= column && column < last; }
};

/// Fixed contexts are each cut into num_splits parts of their own length, in whole units; variable ones into parts of
/// one length. Every column belongs to one part: the last one reaches to max_model_len.
__device__ inline mqa_work find_mqa_work(const mqa_arguments& a) {
  mqa_work w;
  const auto split = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t first_row = static_cast<std::int32_t>(blockIdx.y) * a.block_rows;
  w.sequence = static_cast<std::int32_t>(blockIdx.z);
  w.rows = device::min_of(a.block_rows, a.next_n - first_row);
  w.query = std::int64_t{w.sequence} * a.next_n + first_row;
  const auto to_column = [&](std::int64_t key) {
    return static_cast<std::int32_t>(
        device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(key, a.max_model_len)));
  };
  const std::int32_t context = a.seqlens_k[w.sequence];
  w.first_visible = context - a.next_n + first_row + 1;
  w.visible = to_column(std::int64_t{w.first_visible} + w.rows - 1);

  std::int64_t part = a.part_keys;
  if (a.has_fixed_contexts != 0) {
    const std::int64_t units = (to_column(context) + a.part_keys - 1) / a.part_keys;
    part = (units + a.num_splits - 1) / a.num_splits * a.part_keys;
  }
  const std::int64_t part_end = (split + 1) * part;
  const bool is_last = split + 1 == a.num_splits;
  w.first = to_column(split * part);
  w.last = is_last ? a.max_model_len : to_column(part_end);
  const std::int64_t needed = (std::int64_t{w.visible} + mqa_group_keys - 1) / mqa_group_keys * mqa_group_keys;
  w.end = static_cast<std::int32_t>(
      device::max_of<std::int64_t>(w.first, is_last ? needed : device::min_of(needed, part_end)));
  return w;
}

}  // namespace assay
