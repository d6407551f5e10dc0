/// What the kernels of starter.hip take. This is plain HIP: starter_library.cpp fills it for Assay.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdint>

inline constexpr int tile_keys = 64;  ///< keys of a step of the softmax
inline constexpr int threads = 64;    ///< of a block: one for each key of a tile
inline constexpr int max_head_dim = 256, max_splits = 128;

/// Strides count elements. They are the caller's in every dimension: never derive one from an extent.
template <class T>
struct strided {
  T* data;
  std::int64_t stride[4];

  __device__ T& at(std::int64_t i, std::int64_t j, std::int64_t k = 0, std::int64_t l = 0) const {
    return data[i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3]];
  }
};

/// Optional pointers are null.
struct attention_params {
  strided<const __half> q;     ///< [row, head, dim]
  strided<const __half> k, v;  ///< [page, slot, kv head, dim], the last stride is 1
  // Pages of a sequence: a table of all sequences (vLLM), or without it one list (SGLang).
  strided<const int> block_table;
  const int *page_indptr, *page_indices;
  const int* cu_seqlens_q;  ///< optional: without it each sequence has max_q rows
  const int* seqlens_k;
  const int* prefix_offset;       ///< optional: position of a sequence's first row
  const float* sinks;             ///< optional, [head]
  strided<const float> bias_f32;  ///< at most one of the three, [head, row, key]
  strided<const __half> bias_f16;
  strided<const __hip_bfloat16> bias_bf16;
  strided<__half> o;                      ///< [row, head, dim]
  strided<float> lse;                     ///< [row, head]
  strided<float> o_partial, lse_partial;  ///< the same of each split, with num_splits > 1
  int num_seqs, total_q, max_q, heads_q, heads_kv, head_dim_qk, head_dim_v, page_size, num_splits;
  int causal, window;       ///< window 0: none
  float scale, scale_log2;  ///< of logits; the same times log2(e)
  float soft_cap;           ///< 0: none
  float v_scale;
};

/// Computes o and lse. Errors come by hipGetLastError.
void launch_attention(const attention_params& params, hipStream_t stream);
