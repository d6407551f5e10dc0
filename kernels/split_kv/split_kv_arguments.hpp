/// Arguments and launch of the split-KV attention kernel (kernels/split_kv/split_kv_kernel.hpp). The numeric contract
/// that it keeps is the one that kernels/contract.hpp describes, with the constants of kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/device/divisor.hpp"
#include "kernels/host/device_tensor.hpp"
#include "kernels/platform/current.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Keys that a wave takes at once: the contract's tile. Of one byte an element they are twice as many, so that what is
/// done once a group is done as seldom a byte; not where a group waits in registers and LDS has little room. Arguments:
/// bytes of an element of K, and of V.
constexpr int split_kv_group_keys(std::int64_t k_bytes, std::int64_t v_bytes) {
  return !platform::copies_pass_registers && k_bytes + v_bytes == 2 ? 32 : 16;
}
inline constexpr int most_split_kv_group_keys = 32;
inline constexpr int most_split_kv_rows = 16;  ///< of a block: query rows times heads of a group
/// Where copies pass through registers, more than four were never measured.
inline constexpr int most_split_kv_waves = platform::copies_pass_registers ? 4 : 8;
/// Of the platform's usual wave size, where LDS has room for them.
inline constexpr int usual_split_kv_waves = platform::most_threads_of_block / platform::usual_wave_lanes;
inline constexpr int most_split_kv_threads = 256;  ///< of a block, on any platform
static_assert(platform::most_threads_of_block <= most_split_kv_threads && usual_split_kv_waves <= most_split_kv_waves);
inline constexpr int split_kv_state_bytes = 2 * most_split_kv_rows * 4;  ///< of a wave: m and l of each row
inline constexpr int max_head_dim = 256;
inline constexpr int max_num_splits = 128;

/// Where a block keeps what, in bytes from the start of its dynamic LDS. Rows of Q, K and V are swizzled
/// (kernels/device/swizzled_rows.hpp). In the end a wave's O takes the place of its ring.
struct split_kv_lds {
  std::int32_t q_row_bytes, k_row_bytes, v_row_bytes;
  std::int32_t o_stride;    ///< floats of a row of O
  std::int32_t slots;       ///< of a wave's ring
  std::int32_t ring_at;     ///< of wave 0; before it lies Q
  std::int32_t ring_bytes;  ///< of a wave
  std::int32_t states_at;   ///< of wave 0: page ids of its next groups; in the end m of each row, then l, floats
  std::int32_t size_bytes;
};

/// Rows, waves and LDS of a block.
struct split_kv_shape {
  std::int32_t rows;   ///< 8 or 16: the columns of its matrix atoms
  std::int32_t waves;  ///< each has a state of its own: the contract's states
  std::int32_t lanes;  ///< of a wave
  split_kv_lds lds;
};

/// Everything a block needs to know, in about the order in which it does: of constants a block waits for each line of
/// 64 bytes when it first looks there. Optional tensors have null data.
struct split_kv_arguments {
  // Which rows and keys.
  device::divisor by_row_tiles, by_heads_kv;
  std::int32_t row_tiles;  ///< of the sequence with most rows
  std::int32_t heads_kv;
  const std::int32_t* seqlens_k;
  const std::int32_t* prefix_offset;
  const std::int32_t* cu_seqlens_q;  ///< null in batch mode
  std::int32_t max_q;                ///< query rows of every sequence in batch mode
  std::int32_t group;                ///< query heads per kv head
  device::divisor by_group, by_num_splits;
  std::int32_t num_splits;
  std::int32_t window;
  std::int32_t causal;
  // Where their pages are.
  std::int32_t page_size;
  device::divisor by_page_size;
  const std::int32_t* page_indptr;  ///< null with a block table
  const std::int32_t* pages;        ///< block_table or page_indices
  std::int64_t block_table_stride;
  // How they come to LDS.
  split_kv_shape shape;
  std::int32_t head_dim_qk, head_dim_v;
  std::int32_t has_whole_vectors;  ///< K's and V's rows may be read 16 bytes at a time; else 8
  std::int32_t has_whole_queries;  ///< Q's rows are read 16 bytes at a time; else one element
  device_tensor q, k, v;
  // What becomes of them.
  const float* sinks;
  float logit_scale;        ///< scale * q_scale * k_scale
  float base2_logit_scale;  ///< the same times log2(e)
  float soft_cap;
  float v_scale;
  device_tensor bias;
  dtype bias_type;
  device_tensor o, lse, o_partial, lse_partial;
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
