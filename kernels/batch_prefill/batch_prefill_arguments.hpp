/// Arguments and launch of the batch prefill kernel (kernels/batch_prefill/batch_prefill_kernel.hpp). The numeric
/// contract that it keeps is the one that kernels/contract.hpp describes, with the constants of
/// kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/device/divisor.hpp"
#include "kernels/host/device_tensor.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int prefill_wave_rows = 16;  ///< query rows of a wave
inline constexpr int prefill_tile_keys = 64;
inline constexpr int prefill_group_tile_keys = 128;   ///< where warpgroups multiply (prefill_group_rows.hpp)
inline constexpr int prefill_group_block_rows = 128;  ///< of their blocks
inline constexpr int prefill_least_head_dim = 64;
inline constexpr int prefill_max_head_dim = 128;
inline constexpr int prefill_head_dim_step = 16;  ///< head dimensions are multiples of it
/// Where warpgroups fuse logits: half an ulp of smaller maxima, by which exp2's argument may exceed 0, is at most 2^-9.
inline constexpr float prefill_least_rounded_maximum = 0x1p16F;
inline constexpr int prefill_least_waves = 4;
inline constexpr int prefill_most_threads = prefill_least_waves * 64;

/// Rows, waves and LDS of a block. LDS holds the slots of the ring, swizzled (kernels/device/swizzled_rows.hpp): of
/// each tile K, then V. The block's rows of Q lie there before the first tile, or behind it, where they stay.
struct prefill_shape {
  std::int32_t rows, waves;
  std::int32_t lanes;  ///< of a wave
  std::int32_t slots;
  std::int32_t k_row_bytes, v_row_bytes;
  std::int32_t q_at;
  std::int32_t lds_bytes;
  std::int32_t by_groups;  ///< warpgroups multiply: of the fields above only `rows` is set
};

/// Everything a block needs to know. Optional tensors have null data.
struct prefill_arguments {
  device_tensor q, k, v, o, lse;
  device_tensor k_descale, v_descale;  ///< null with per-tensor descales
  const std::int32_t* cu_seqlens_q;    ///< null in batch mode
  const std::int32_t* seqlens_k;
  const std::int32_t* pages;  ///< block_table or page_indices
  std::int64_t block_table_stride;
  const std::int32_t* page_indptr;  ///< null with a block table
  const std::int32_t* prefix_offset;
  std::int32_t max_q;      ///< query rows of every sequence in batch mode
  std::int32_t row_tiles;  ///< of the sequence with most rows
  unsigned int parts;      ///< their number, where blocks take several (prefill_groups_kernel.hpp)
  std::int32_t heads_q;
  std::int32_t group;  ///< query heads per kv head
  std::int32_t head_dim_qk, head_dim_v;
  std::int32_t page_size;
  device::divisor by_page_size;
  std::int32_t causal;
  std::int32_t has_whole_vectors;  ///< K's and V's rows may be read 16 bytes at a time; else 8
  std::int32_t has_whole_queries;  ///< Q's rows may be read eight elements at a time
  std::int32_t has_whole_outputs;  ///< O's rows may be written eight elements at a time
  float logit_scale;               ///< scale * q_scale * k_scale
  float base2_logit_scale;         ///< the same times log2(e)
  float soft_cap;
  float v_scale;
  prefill_shape shape;
};

/// Launches the kernel for one combination of types, with `blocks`: query heads, innermost, times row tiles times
/// sequences. Errors come by hipGetLastError.
using prefill_launcher = void (*)(const prefill_arguments& arguments, unsigned int blocks);

void launch_prefill_f16(const prefill_arguments& arguments, unsigned int blocks);
void launch_prefill_bf16(const prefill_arguments& arguments, unsigned int blocks);
void launch_prefill_e4m3fn_f16(const prefill_arguments& arguments, unsigned int blocks);
void launch_prefill_e4m3fn_bf16(const prefill_arguments& arguments, unsigned int blocks);
void launch_prefill_e4m3fnuz_f16(const prefill_arguments& arguments, unsigned int blocks);
void launch_prefill_e4m3fnuz_bf16(const prefill_arguments& arguments, unsigned int blocks);

}  // namespace assay
