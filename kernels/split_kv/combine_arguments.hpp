/// Joins the partials of all splits: o = sum w_s o_s / W, lse = M + log W with M = max lse_s, w_s = exp(lse_s - M).
#pragma once

#include <cstdint>

#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

struct combine_arguments {
  device_tensor o, lse, o_partial, lse_partial;
  dtype o_type;
  std::int64_t rows;  ///< total_q * heads_q
  std::int32_t heads_q;
  device::divisor by_heads_q;
  std::int32_t head_dim_v;
  std::int32_t num_splits;
  std::int32_t has_whole_partials;  ///< o_partial's rows may be read 16 bytes at a time
  std::int32_t has_whole_outputs;   ///< o's rows may be written four elements at a time
  const std::int32_t* end_query;    ///< cu_seqlens_q's last entry: padding rows are behind it; null in batch mode
};

/// Errors come by hipGetLastError. `rows` is at least 1.
void launch_combine(const combine_arguments& arguments);

/// Blocks that a launch takes at most; they must not exceed 2^31 - 1.
std::int64_t most_combine_blocks(std::int64_t rows);

}  // namespace assay
