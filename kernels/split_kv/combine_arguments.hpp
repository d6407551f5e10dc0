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

/// Of a block, which has one row or two.
inline constexpr int combine_threads = 64;

/// Errors come by hipGetLastError. `rows` is at least 1; a grid is to take a block for each.
void launch_combine(const combine_arguments& arguments);

}  // namespace assay
