/// Arguments and launch of the paged MQA logits kernels (kernels/mqa_logits/mqa_logits_kernel.hpp). Their numeric
/// contract is the one that kernels/contract.hpp describes, with the constants of kernels/host/declare.cpp.
#pragma once

#include <cstdint>

#include "kernels/device/divisor.hpp"
#include "kernels/host/device_tensor.hpp"
#include "kernels/platform/current.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int mqa_threads = 128;  ///< on NVIDIA's GPUs a warpgroup
/// Blocks that should share a compute unit: then the sums of some hide behind the products of others. Launch bounds
/// name it, where AMD's compilers read it as waves of a SIMD: as many registers.
inline constexpr int mqa_blocks_of_unit = 3;
inline constexpr int mqa_fixed_unit = 256;     ///< keys of which parts of fixed contexts are multiples
inline constexpr int mqa_variable_unit = 128;  ///< and of variable ones
/// Keys that a wave brings at once: one or two atoms of 16. Where they wait in registers two take too many.
inline constexpr int mqa_group_keys = platform::copies_pass_registers ? 16 : 32;
inline constexpr int mqa_max_heads = 64;
inline constexpr int mqa_few_heads = 32;    ///< up to which blocks have room for no more
inline constexpr int mqa_panel_rows = 128;  ///< heads times query rows of a block, at the most
inline constexpr int mqa_max_head_dim = 128;
inline constexpr int mqa_head_dim_step = 32;  ///< depth of an FP8 atom
inline constexpr int mqa_max_next_n = 4;
inline constexpr int mqa_max_splits = 128;

/// Query rows of a block, and its LDS: the panel of heads (kernels/device/head_atoms.hpp), in which each query row has
/// `heads` rows; as many weights; a ring of keys for each wave.
struct mqa_shape {
  std::int32_t heads;  ///< that there is room for: mqa_few_heads or mqa_max_heads
  std::int32_t rows;   ///< that there is room for: 1, or as many as the panel can have
  std::int32_t weights_at, ring_at;
  std::int32_t slots;  ///< of a ring
  std::int32_t lds_bytes;
  std::int32_t by_groups;  ///< whether the heads have the form device::group_heads, not usual_heads
  std::int32_t panel_rows() const { return heads * rows; }
};

/// Everything a block needs to know.
struct mqa_arguments {
  device_tensor q, weights, k, k_row_scale, logits;
  const std::int32_t* seqlens_k;
  const std::int32_t* pages;  ///< block_table or page_indices
  std::int64_t block_table_stride;
  const std::int32_t* page_indptr;  ///< null with a block table
  std::int32_t next_n;              ///< query rows of a sequence
  std::int32_t block_rows;          ///< of a block; the last one of a sequence may have fewer
  std::int32_t heads;
  std::int32_t head_dim;
  std::int32_t page_size;
  device::divisor by_page_size;
  std::int32_t has_whole_vectors;  ///< rows of K may be read 16 bytes at a time; else 8
  std::int32_t has_whole_heads;    ///< as those of Q
  std::int32_t max_model_len;
  std::int32_t fills_hidden;
  std::int32_t preshuffled;
  std::int32_t num_splits;
  std::int32_t has_fixed_contexts;
  std::int64_t part_keys;  ///< fixed contexts: parts are multiples of it; variable: keys of a part
  mqa_shape shape;
};

/// Extents of a launch.
struct mqa_grid {
  unsigned int splits;
  unsigned int row_blocks;  ///< of a sequence
  unsigned int sequences;
};

/// Launches the kernel for one FP8 type; errors come by hipGetLastError.
using mqa_launcher = void (*)(const mqa_arguments& arguments, mqa_grid grid);

void launch_mqa_logits_e4m3fn(const mqa_arguments& arguments, mqa_grid grid);
void launch_mqa_logits_e4m3fnuz(const mqa_arguments& arguments, mqa_grid grid);

}  // namespace assay
