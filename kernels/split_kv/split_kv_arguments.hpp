/// Arguments and launch of the split-KV attention kernel (kernels/split_kv/split_kv_kernel.hpp). The numeric contract
/// that it keeps is the one that kernels/contract.hpp describes, with the constants of kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/host/device_tensor.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int split_kv_threads = 128;
inline constexpr int split_kv_tile_rows = 16;  ///< query rows times heads of a group
inline constexpr int split_kv_tile_keys = 64;
inline constexpr int max_head_dim = 256;
inline constexpr int max_num_splits = 128;

/// Where a block keeps what, in bytes from the start of its dynamic LDS; row strides in elements. K and V of a tile
/// share one buffer: K is consumed before V is stored. Rows are padded by 8 elements so that they start in different
/// banks.
struct split_kv_lds {
  std::int32_t q_stride;
  std::int32_t v_stride;
  std::int32_t kv_at;
  std::int32_t scores_at;
  std::int32_t p_at;
  std::int32_t row_at;
  std::int32_t size_bytes;
};

inline constexpr int split_kv_scores_stride = split_kv_tile_keys + 4;
inline constexpr int split_kv_p_stride = split_kv_tile_keys + 8;

/// At most 48 KiB, so that no platform needs to be asked for more: with both head dimensions 256, 16 * 264 * 2 +
/// 64 * 264 * 2 + 16 * 68 * 4 + 16 * 72 * 2 + 16 * 4 = 48,960.
constexpr split_kv_lds lay_out_split_kv(int head_dim_qk, int head_dim_v, std::int64_t qk_bytes) {
  constexpr int pad = 8, depth = 16;
  split_kv_lds at{};
  at.q_stride = (head_dim_qk + depth - 1) / depth * depth + pad;
  at.v_stride = (head_dim_v + depth - 1) / depth * depth + pad;
  const int qk_row = at.q_stride * static_cast<int>(qk_bytes), v_row = at.v_stride * 2;
  at.kv_at = (split_kv_tile_rows * qk_row + 15) / 16 * 16;
  at.scores_at = at.kv_at + split_kv_tile_keys * (qk_row > v_row ? qk_row : v_row);
  at.p_at = at.scores_at + split_kv_tile_rows * split_kv_scores_stride * 4;
  at.row_at = at.p_at + split_kv_tile_rows * split_kv_p_stride * 2;
  at.size_bytes = at.row_at + split_kv_tile_rows * 4;
  return at;
}
static_assert(lay_out_split_kv(max_head_dim, max_head_dim, 2).size_bytes <= 48 * 1024);

/// Everything a block needs to know. Optional tensors have null data.
struct split_kv_arguments {
  device_tensor q, k, v, bias, o, lse, o_partial, lse_partial;
  const std::int32_t* cu_seqlens_q;  ///< null in batch mode
  const std::int32_t* seqlens_k;
  const std::int32_t* pages;  ///< block_table or page_indices
  std::int64_t block_table_stride;
  const std::int32_t* page_indptr;  ///< null with a block table
  const std::int32_t* prefix_offset;
  const float* sinks;
  dtype bias_type;
  std::int32_t max_q;  ///< query rows of every sequence in batch mode
  std::int32_t group;  ///< query heads per kv head
  std::int32_t heads_kv;
  std::int32_t head_dim_qk, head_dim_v;
  std::int32_t page_size;
  std::int32_t causal;
  std::int32_t window;
  std::int32_t num_splits;
  std::int32_t row_tiles;   ///< of the sequence with most rows
  float logit_scale;        ///< scale * q_scale * k_scale
  float base2_logit_scale;  ///< the same times log2(e)
  float soft_cap;
  float v_scale;
  split_kv_lds lds;
};

/// Extents of a launch.
struct split_kv_grid {
  unsigned int blocks;  ///< row tiles, innermost, times kv heads times sequences
  unsigned int splits;
};

/// Launches the kernel for one combination of types; errors come by hipGetLastError.
using split_kv_launcher = void (*)(const split_kv_arguments& arguments, split_kv_grid grid);

void launch_split_kv_f16(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_bf16(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_i8(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_f16_e4m3fn(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_f16_e4m3fnuz(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_bf16_e4m3fn(const split_kv_arguments& arguments, split_kv_grid grid);
void launch_split_kv_bf16_e4m3fnuz(const split_kv_arguments& arguments, split_kv_grid grid);

}  // namespace assay
