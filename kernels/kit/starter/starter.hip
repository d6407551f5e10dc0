/// Attention over a paged KV cache in f16 (flash decoding). A block takes one query row, one head and one split of the
/// keys: simple, not fast. For each tile of 64 keys:
///   thread j: the logit of key j, to LDS | all: the maximum | thread j: its probability, to LDS | O = O * alpha + P V,
/// where thread t holds columns t, t + 64, ... of O. A second kernel joins the splits.
#include "starter.hpp"

#include <cmath>

namespace {

static_assert(threads == tile_keys);
constexpr int columns_per_thread = max_head_dim / threads;
constexpr float log2_e = 1.44269504F, ln_2 = 0.693147181F;
constexpr float nothing = -INFINITY;  // the logit of a hidden key, and the LSE of no key

/// The row that a block works on.
struct query_row {
  int sequence;  ///< num_seqs: the row is padding and belongs to none
  int index, head, kv_head, keys;
  std::int64_t position;  ///< may lie before the first key or behind the last
};

__device__ query_row find_row(const attention_params& p) {
  query_row row{0, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), 0, 0, 0};
  row.kv_head = row.head / (p.heads_q / p.heads_kv);
  int first = 0, rows = p.max_q;
  if (p.cu_seqlens_q == nullptr) {
    row.sequence = row.index / p.max_q;
    first = row.sequence * p.max_q;
  } else {  // the first sequence that ends behind the row; empty sequences end where they begin
    int beyond = p.num_seqs;
    while (row.sequence < beyond) {
      const int middle = row.sequence + (beyond - row.sequence) / 2;
      if (p.cu_seqlens_q[middle + 1] <= row.index)
        row.sequence = middle + 1;
      else
        beyond = middle;
    }
    if (row.sequence == p.num_seqs) return row;
    first = p.cu_seqlens_q[row.sequence];
    rows = p.cu_seqlens_q[row.sequence + 1] - first;
  }
  row.keys = p.seqlens_k[row.sequence];
  row.position = p.prefix_offset != nullptr ? p.prefix_offset[row.sequence] : std::int64_t{row.keys} - rows;
  row.position += row.index - first;
  return row;
}

/// Hidden keys are dead memory: it may hold anything, and is not read.
__device__ bool is_visible(const attention_params& p, const query_row& row, std::int64_t key) {
  return key < row.keys && (p.causal == 0 || key <= row.position) && (p.window == 0 || key > row.position - p.window);
}

/// The elements of a key, or of its value.
__device__ const __half* row_in_pool(const attention_params& p, const strided<const __half>& pool, const query_row& row,
                                     std::int64_t key) {
  const std::int64_t entry = key / p.page_size, slot = key % p.page_size;
  const int page = p.block_table.data != nullptr ? p.block_table.at(row.sequence, entry)
                                                 : p.page_indices[p.page_indptr[row.sequence] + entry];
  return &pool.at(page, slot, row.kv_head);
}

/// Dynamic LDS of a block.
struct scratch {
  float* query;           ///< in f32
  float* tile;            ///< logits of a tile's keys, then probabilities
  const __half** values;  ///< of the visible ones
};

/// Logit of a visible key, times log2(e) so that exp2f does.
__device__ float base2_logit(const attention_params& p, const query_row& row, std::int64_t key, const float* query) {
  const __half* const k = row_in_pool(p, p.k, row, key);
  const int dims = p.head_dim_qk;
  float dot = 0.0F;
  for (int d = 0; d < dims; ++d) dot = fmaf(query[d], __half2float(k[d]), dot);
  const bool has_bias = p.bias_f32.data != nullptr || p.bias_f16.data != nullptr || p.bias_bf16.data != nullptr;
  if (p.soft_cap == 0.0F && !has_bias) return dot * p.scale_log2;
  float x = dot * p.scale;
  if (p.soft_cap > 0.0F) x = p.soft_cap * tanhf(x / p.soft_cap);
  if (p.bias_f32.data != nullptr) x += p.bias_f32.at(row.head, row.index, key);
  if (p.bias_f16.data != nullptr) x += __half2float(p.bias_f16.at(row.head, row.index, key));
  if (p.bias_bf16.data != nullptr) x += __bfloat162float(p.bias_bf16.at(row.head, row.index, key));
  return x * log2_e;
}

/// The online softmax so far. All threads hold the same m and l, and each its columns of O.
struct softmax_state {
  float m = nothing;  ///< largest logit
  float l = 0.0F;     ///< sum of exp2(logit - m)
  float o[columns_per_thread] = {};
};

/// A sink is a logit without a value; the first split has it.
__device__ softmax_state begin_split(const attention_params& p, const query_row& row, int split) {
  softmax_state s;
  if (p.sinks == nullptr || split != 0) return s;
  s.m = p.sinks[row.head] * log2_e;
  s.l = s.m == nothing ? 0.0F : 1.0F;
  return s;
}

__device__ void take_tile(const attention_params& p, const query_row& row, std::int64_t first_key, const scratch& lds,
                          softmax_state& s) {
  const int thread = static_cast<int>(threadIdx.x), columns = p.head_dim_v;
  const std::int64_t key = first_key + thread;
  float* const tile = lds.tile;
  tile[thread] = nothing;
  if (is_visible(p, row, key)) {
    tile[thread] = base2_logit(p, row, key, lds.query);
    lds.values[thread] = row_in_pool(p, p.v, row, key);
  }
  __syncthreads();
  float top = s.m;
  for (int j = 0; j < tile_keys; ++j) top = fmaxf(top, tile[j]);
  const float base = top == nothing ? 0.0F : top;  // -inf - -inf would be NaN
  const float alpha = top == s.m ? 1.0F : exp2f(s.m - base);
  __syncthreads();
  tile[thread] = exp2f(tile[thread] - base);
  __syncthreads();
  s.m = top;
  s.l *= alpha;
  for (float& o : s.o) o *= alpha;
  for (int j = 0; j < tile_keys; ++j) {
    const float probability = tile[j];
    if (probability == 0.0F) continue;  // hidden, or too small to count
    s.l += probability;
    const float rounded = __half2float(__float2half(probability));  // as a matrix unit takes it
    const __half* const v = lds.values[j];
    for (int i = 0, column = thread; column < columns; ++i, column += threads)
      s.o[i] = fmaf(rounded, __half2float(v[column]), s.o[i]);
  }
  __syncthreads();  // the next tile's logits come to the same place
}

__device__ void store_split(const attention_params& p, const query_row& row, int split, const softmax_state& s) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = 0, column = thread; column < p.head_dim_v; ++i, column += threads) {
    const float o = s.l == 0.0F ? 0.0F : s.o[i] / s.l * p.v_scale;  // compared so that NaN stays NaN
    if (p.num_splits == 1)
      p.o.at(row.index, row.head, column) = __float2half(o);
    else
      p.o_partial.at(split, row.index, row.head, column) = o;
  }
  if (thread != 0) return;
  const float lse = s.l == 0.0F ? nothing : s.m * ln_2 + logf(s.l);
  if (p.num_splits == 1)
    p.lse.at(row.index, row.head) = lse;
  else
    p.lse_partial.at(split, row.index, row.head) = lse;
}

std::size_t lds_bytes_of(const attention_params& p) {
  return sizeof(float) * static_cast<std::size_t>(p.head_dim_qk + tile_keys) + sizeof(__half*) * tile_keys;
}

/// Grid: row, head, split. The head dim is a multiple of 8, which aligns the pointers.
__global__ void __launch_bounds__(threads) attention_kernel(const attention_params p) {
  extern __shared__ float memory[];
  float* const tile = memory + p.head_dim_qk;
  const scratch lds{memory, tile, reinterpret_cast<const __half**>(tile + tile_keys)};
  const query_row row = find_row(p);
  if (row.sequence == p.num_seqs) return;
  for (int d = static_cast<int>(threadIdx.x); d < p.head_dim_qk; d += threads)
    lds.query[d] = __half2float(p.q.at(row.index, row.head, d));
  __syncthreads();

  const int split = static_cast<int>(blockIdx.z);
  const std::int64_t tiles = (std::int64_t{row.keys} + tile_keys - 1) / tile_keys;
  const std::int64_t per_split = (tiles + p.num_splits - 1) / p.num_splits;
  softmax_state s = begin_split(p, row, split);
  for (std::int64_t i = split * per_split; i < (split + 1) * per_split && i < tiles; ++i)
    take_tile(p, row, i * tile_keys, lds, s);
  store_split(p, row, split, s);
}

/// Joins the splits: each weighs exp(its LSE - the largest LSE). Grid: row, head.
__global__ void __launch_bounds__(threads) combine_kernel(const attention_params p) {
  const query_row row = find_row(p);
  if (row.sequence == p.num_seqs) return;
  const int thread = static_cast<int>(threadIdx.x);
  float largest = nothing;
  for (int split = 0; split < p.num_splits; ++split) {
    const float lse = p.lse_partial.at(split, row.index, row.head);
    largest = lse > largest || lse != lse ? lse : largest;  // a NaN stays
  }
  float total = 0.0F, o[columns_per_thread] = {};
  for (int split = 0; split < p.num_splits; ++split) {
    const float lse = p.lse_partial.at(split, row.index, row.head);
    const float weight = lse == nothing ? 0.0F : expf(lse - largest);
    total += weight;
    for (int i = 0, column = thread; column < p.head_dim_v; ++i, column += threads)
      o[i] = fmaf(weight, p.o_partial.at(split, row.index, row.head, column), o[i]);
  }
  for (int i = 0, column = thread; column < p.head_dim_v; ++i, column += threads)
    p.o.at(row.index, row.head, column) = __float2half(largest == nothing ? 0.0F : o[i] / total);
  if (thread == 0) p.lse.at(row.index, row.head) = largest == nothing ? nothing : largest + logf(total);
}

}  // namespace

void launch_attention(const attention_params& p, hipStream_t stream) {
  const auto rows = static_cast<unsigned int>(p.total_q), heads = static_cast<unsigned int>(p.heads_q),
             splits = static_cast<unsigned int>(p.num_splits);
  attention_kernel<<<dim3(rows, heads, splits), threads, lds_bytes_of(p), stream>>>(p);
  if (p.num_splits > 1) combine_kernel<<<dim3(rows, heads), threads, 0, stream>>>(p);
}
