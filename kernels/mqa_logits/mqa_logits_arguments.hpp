/// Arguments and launch of the paged MQA logits kernels (kernels/mqa_logits/mqa_logits_kernel.hpp). Their numeric
/// contract is the one that kernels/contract.hpp describes, with the constants of kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/host/device_tensor.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int mqa_threads = 128;
inline constexpr int mqa_stage_keys = 128;                 ///< one thread looks up one key
inline constexpr int mqa_chunk_keys = 2 * mqa_stage_keys;  ///< a turn of the main loop, both LDS slots
inline constexpr int mqa_max_heads = 64;
inline constexpr int mqa_max_head_dim = 128;
inline constexpr int mqa_head_dim_step = 32;  ///< depth of an FP8 atom
inline constexpr int mqa_max_next_n = 4;
inline constexpr int mqa_max_splits = 128;

/// A key's or a head's row in LDS, padded by 8 bytes so that rows start in different banks.
inline constexpr int mqa_row_stride = mqa_max_head_dim + 8;

/// LDS of a block. Heads are padded to whole atoms with zeros. Slot 0 or 1 holds the stage at work, the other one takes
/// in the next.
struct mqa_lds {
  std::uint8_t q[mqa_max_heads * mqa_row_stride];
  float weights[mqa_max_heads];
  std::uint8_t k[2][mqa_stage_keys * mqa_row_stride];
  std::int64_t row_at[2][mqa_stage_keys];  ///< where the keys' rows start in the pool, in elements
  float k_row_scale[2][mqa_stage_keys];
};
static_assert(sizeof(mqa_lds) <= 48 * 1024);

/// Everything a block needs to know.
struct mqa_arguments {
  device_tensor q, weights, k, k_row_scale, logits;
  const std::int32_t* seqlens_k;
  const std::int32_t* pages;  ///< block_table or page_indices
  std::int64_t block_table_stride;
  const std::int32_t* page_indptr;  ///< null with a block table
  std::int32_t next_n;              ///< query rows of a sequence
  std::int32_t heads;
  std::int32_t head_dim;
  std::int32_t page_size;
  std::int32_t max_model_len;
  std::int32_t fills_hidden;
  std::int32_t preshuffled;
  std::int32_t num_splits;
  std::int64_t part_keys;  ///< fixed contexts: parts are multiples of it; variable: keys of a part
};

/// Extents of a launch.
struct mqa_grid {
  unsigned int splits;
  unsigned int next_n;
  unsigned int sequences;
};

/// Launches the kernel for one FP8 type; errors come by hipGetLastError.
using mqa_launcher = void (*)(const mqa_arguments& arguments, mqa_grid grid, context_split split_contexts);

void launch_mqa_logits_e4m3fn(const mqa_arguments& arguments, mqa_grid grid, context_split split_contexts);
void launch_mqa_logits_e4m3fnuz(const mqa_arguments& arguments, mqa_grid grid, context_split split_contexts);

}  // namespace assay
