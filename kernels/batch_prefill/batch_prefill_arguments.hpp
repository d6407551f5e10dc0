/// Arguments and launch of the FP8 batch prefill kernel (kernels/batch_prefill/batch_prefill_kernel.hpp). The numeric
/// contract that it keeps is the one that kernels/contract.hpp describes, with the constants of
/// kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/host/device_tensor.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int prefill_waves = 4;
inline constexpr int prefill_wave_rows = 16;  ///< query rows of a wave: one matrix atom
inline constexpr int prefill_tile_rows = prefill_waves * prefill_wave_rows;
inline constexpr int prefill_tile_keys = 64;
inline constexpr int prefill_max_head_dim = 128;
inline constexpr int prefill_head_dim_step = 16;  ///< head dimensions are multiples of it

/// Where a block keeps what, in bytes, which are elements, from the start of its dynamic LDS. K and V have two slots
/// each: the tile at work and the next one. K lies in rows of keys, V in rows of head dimensions: matrix operands are
/// read along the reduction. P is private to a wave, and so is Q, which is here on devices with few registers only.
/// Rows are padded by 8 bytes so that they start in different banks.
struct prefill_lds {
  std::int32_t k_stride;
  std::int32_t k_slot_bytes;
  std::int32_t v_at;
  std::int32_t v_slot_bytes;
  std::int32_t p_at;
  std::int32_t q_at;  ///< rows of k_stride
  std::int32_t size_bytes;
};

inline constexpr int prefill_key_stride = prefill_tile_keys + 8;  ///< of V's and P's rows

constexpr prefill_lds lay_out_prefill(int head_dim_qk, int head_dim_v, bool has_q) {
  constexpr int pad = 8, depth = 32;
  prefill_lds at{};
  at.k_stride = (head_dim_qk + depth - 1) / depth * depth + pad;
  at.k_slot_bytes = prefill_tile_keys * at.k_stride;
  at.v_at = 2 * at.k_slot_bytes;
  at.v_slot_bytes = head_dim_v * prefill_key_stride;
  at.p_at = at.v_at + 2 * at.v_slot_bytes;
  at.q_at = at.p_at + prefill_tile_rows * prefill_key_stride;
  at.size_bytes = at.q_at + (has_q ? prefill_tile_rows * at.k_stride : 0);
  return at;
}
static_assert(lay_out_prefill(prefill_max_head_dim, prefill_max_head_dim, true).size_bytes <= 48 * 1024);

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
  std::int32_t heads_q;
  std::int32_t group;  ///< query heads per kv head
  std::int32_t head_dim_qk, head_dim_v;
  std::int32_t page_size;
  std::int32_t causal;
  float logit_scale;        ///< scale * q_scale * k_scale
  float base2_logit_scale;  ///< the same times log2(e)
  float soft_cap;
  float v_scale;
  prefill_lds lds;
};

/// Extents of a launch; a block has prefill_waves waves.
struct prefill_grid {
  unsigned int blocks;  ///< row tiles, innermost, times query heads times sequences
  unsigned int threads;
};

/// Launches the kernel for one combination of types; errors come by hipGetLastError.
using prefill_launcher = void (*)(const prefill_arguments& arguments, prefill_grid grid);

void launch_prefill_e4m3fn_f16(const prefill_arguments& arguments, prefill_grid grid);
void launch_prefill_e4m3fn_bf16(const prefill_arguments& arguments, prefill_grid grid);
void launch_prefill_e4m3fnuz_f16(const prefill_arguments& arguments, prefill_grid grid);
void launch_prefill_e4m3fnuz_bf16(const prefill_arguments& arguments, prefill_grid grid);

/// P is multiplied by this power of two before it becomes FP8: the largest that the type holds, 2^8 <= 448 and
/// 2^7 <= 240.
constexpr std::int32_t prefill_p_shift(dtype fp8) {
  return fp8 == dtype::e4m3fn ? 8 : 7;
}

}  // namespace assay
