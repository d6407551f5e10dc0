/// Decoding over a paged KV cache in f16: one query row of each sequence, a block of 64 threads for each row and head.
/// It has a bug, which a test with pages of 64 keys does not see. `./assay run` finds it; README.md shows how.
#include "decode.hpp"

#include <cmath>

namespace {

constexpr int tile_keys = 64;

__global__ void __launch_bounds__(tile_keys) decode_kernel(const decode_params p) {
  __shared__ float query[max_head_dim];
  __shared__ float weights[tile_keys];
  const int thread = static_cast<int>(threadIdx.x), sequence = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y), kv_head = head / (p.heads_q / p.heads_kv);
  const std::int64_t row = std::int64_t{sequence} * p.heads_q + head;
  for (int d = thread; d < p.head_dim; d += tile_keys) query[d] = __half2float(p.q[row * p.head_dim + d]);

  float m = -INFINITY, l = 0.0F, o[max_head_dim / tile_keys] = {};
  const int keys = p.seqlens_k[sequence];
  for (int first = 0; first < keys; first += tile_keys) {
    const int* const pages = p.block_table + sequence * p.table_stride + first / p.page_size;
    const auto element = [&](const __half* pool, int key, int d) {
      const std::int64_t slot = std::int64_t{pages[0]} * p.page_size + key % p.page_size;
      return __half2float(pool[(slot * p.heads_kv + kv_head) * p.head_dim + d]);
    };
    __syncthreads();
    float x = -INFINITY;
    if (const int key = first + thread; key < keys) {
      x = 0.0F;
      for (int d = 0; d < p.head_dim; ++d) x = fmaf(query[d], element(p.k, key, d), x);
      x *= p.scale;
    }
    weights[thread] = x;
    __syncthreads();
    float top = m;
    for (int j = 0; j < tile_keys; ++j) top = fmaxf(top, weights[j]);
    __syncthreads();
    weights[thread] = expf(x - top);
    __syncthreads();
    const float alpha = expf(m - top);
    m = top;
    l *= alpha;
    for (float& sum : o) sum *= alpha;
    for (int j = 0; j < tile_keys && first + j < keys; ++j) {
      l += weights[j];
      for (int i = 0, d = thread; d < p.head_dim; ++i, d += tile_keys) o[i] += weights[j] * element(p.v, first + j, d);
    }
  }
  for (int i = 0, d = thread; d < p.head_dim; ++i, d += tile_keys)
    p.o[row * p.head_dim + d] = __float2half(keys == 0 ? 0.0F : o[i] / l);
}

}  // namespace

void launch_decode(const decode_params& p, hipStream_t stream) {
  const dim3 grid(static_cast<unsigned int>(p.num_seqs), static_cast<unsigned int>(p.heads_q));
  decode_kernel<<<grid, tile_keys, 0, stream>>>(p);
}
