/// What the kernel of decode.hip takes. All tensors are dense.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdint>

inline constexpr int max_head_dim = 128;

struct decode_params {
  const __half* q;         ///< [sequence, head, dim]
  const __half *k, *v;     ///< [page, slot, kv head, dim]
  const int* block_table;  ///< [sequence, entry], rows `table_stride` entries apart
  const int* seqlens_k;
  __half* o;  ///< [sequence, head, dim]
  std::int64_t table_stride;
  int num_seqs, heads_q, heads_kv, head_dim, page_size;
  float scale;
};

void launch_decode(const decode_params& params, hipStream_t stream);
