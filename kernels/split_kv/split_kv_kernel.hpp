/// Split-KV attention over a paged cache. A block takes 16 rows (query rows times heads of one group) of one sequence
/// and kv head, and one split of its keys. Per tile of 64 keys:
///   S = Q K^T by matrix atoms, to LDS | softmax, 8 lanes a row: P to LDS, alpha | O = O * alpha + P V by matrix atoms
/// K and V share one LDS buffer, and each one's global loads are in flight during the other one's matrix work.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/device/mma.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/device/softmax.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

/// Types and extents of an instantiation. T: Q and K at the matrix unit, V: V and P there, and O as stored.
template <class T, class StoredK, class StoredV, class V, int MaxHeadDimV>
struct split_kv_traits {
  using element = T;
  using stored_k = StoredK;
  using stored_v = StoredV;
  using value = V;
  using score = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;
  static constexpr int max_head_dim_v = MaxHeadDimV;
  static constexpr int max_atoms_per_wave =
      MaxHeadDimV / device::atom_columns / (split_kv_threads / device::largest_wave);
};

/// Which rows, keys and tiles a block works on. Without rows, what follows `rows` is not set.
struct block_work {
  std::int32_t sequence, kv_head, split;
  std::int32_t first_query;  ///< the sequence's first row in q
  std::int32_t first_row;    ///< of the block, counting rows times group
  std::int32_t rows;         ///< of the sequence, counting rows times group
  std::int32_t num_keys;
  std::int64_t position;               ///< of the sequence's query row 0
  device::key_range visible;           ///< to any row of the block
  std::int32_t first_tile, last_tile;  ///< [first, last) of this split that hold visible keys
};

__device__ inline block_work find_work(const split_kv_arguments& a) {
  block_work w;
  // All in x, whose extent is the only large one; the row tiles that share keys are neighbours.
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t row_tile = block % a.row_tiles, of_head = block / a.row_tiles;
  w.sequence = of_head / a.heads_kv;
  w.kv_head = of_head % a.heads_kv;
  w.split = static_cast<std::int32_t>(blockIdx.y);
  const bool is_batch = a.cu_seqlens_q == nullptr;
  w.first_query = is_batch ? w.sequence * a.max_q : a.cu_seqlens_q[w.sequence];  // at most total_q
  const std::int32_t queries = is_batch ? a.max_q : a.cu_seqlens_q[w.sequence + 1] - w.first_query;
  w.rows = queries * a.group;
  w.first_row = row_tile * split_kv_tile_rows;
  if (w.first_row >= w.rows) return w;  // a shorter sequence than the longest: in large batches most blocks end here
  w.num_keys = a.seqlens_k[w.sequence];
  // Positions may lie before the first key or far behind the last: 64 bits.
  w.position = a.prefix_offset != nullptr ? a.prefix_offset[w.sequence] : std::int64_t{w.num_keys} - queries;

  const std::int32_t last_row = device::min_of(w.rows, w.first_row + split_kv_tile_rows) - 1;
  const std::int64_t lowest = w.position + w.first_row / a.group, highest = w.position + last_row / a.group;
  const auto clamp_to_keys = [&](std::int64_t key) {
    return static_cast<std::int32_t>(device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(key, w.num_keys)));
  };
  w.visible.first = a.window > 0 ? clamp_to_keys(lowest - a.window + 1) : 0;
  w.visible.last = a.causal != 0 ? clamp_to_keys(highest + 1) : w.num_keys;

  // Splits cut the whole sequence, whatever the mask shows of it: the cut must not depend on the row. 64 bits, since
  // rounded up the tiles of all splits can exceed 2^31 keys.
  const std::int64_t tiles = (std::int64_t{w.num_keys} + split_kv_tile_keys - 1) / split_kv_tile_keys;
  const std::int64_t per_split = (tiles + a.num_splits - 1) / a.num_splits;
  const std::int64_t visible_end = (std::int64_t{w.visible.last} + split_kv_tile_keys - 1) / split_kv_tile_keys;
  w.first_tile = static_cast<std::int32_t>(
      device::max_of<std::int64_t>(w.visible.first / split_kv_tile_keys, device::min_of(w.split * per_split, tiles)));
  w.last_tile = static_cast<std::int32_t>(device::min_of(visible_end, (w.split + 1) * per_split));
  if (w.visible.first >= w.visible.last) w.last_tile = w.first_tile;
  return w;
}

/// One row of a block: the query row and head it stands for.
struct row_identity {
  bool exists;
  std::int64_t query;     ///< row of q
  std::int32_t head;      ///< query head
  std::int64_t position;  ///< for the mask
};

__device__ inline row_identity identify_row(const split_kv_arguments& a, const block_work& w, int row) {
  const std::int32_t packed = w.first_row + row, query = packed / a.group;
  return {packed < w.rows, std::int64_t{w.first_query} + query, w.kv_head * a.group + packed % a.group,
          w.position + query};
}

__device__ inline float bias_at(const split_kv_arguments& a, const row_identity& row, std::int32_t key) {
  const std::int64_t at = row.head * a.bias.stride[0] + row.query * a.bias.stride[1] + key * a.bias.stride[2];
  switch (a.bias_type) {
    case dtype::f16: return to_float(static_cast<const device::f16*>(a.bias.data)[at]);
    case dtype::bf16: return to_float(static_cast<const device::bf16*>(a.bias.data)[at]);
    default: return static_cast<const float*>(a.bias.data)[at];
  }
}

/// Base-2 logit of a visible key from the dot product. Each operation rounds once; the contract lists them.
__device__ inline float base2_logit(const split_kv_arguments& a, const row_identity& row, std::int32_t key, float dot) {
  if (a.soft_cap == 0.0F && a.bias.data == nullptr) return dot * a.base2_logit_scale;
  float x = dot * a.logit_scale;
  if (a.soft_cap > 0.0F) x = a.soft_cap * device::tanh(x / a.soft_cap);
  if (a.bias.data != nullptr) x += bias_at(a, row, key);
  return x * device::log2_e;
}

__device__ inline bool is_visible(const split_kv_arguments& a, const block_work& w, const row_identity& row,
                                  std::int32_t key) {
  return row.exists && key < w.num_keys && (a.causal == 0 || key <= row.position) &&
         (a.window == 0 || key > row.position - a.window);
}

/// Q's rows of the block to LDS; rows and columns beyond the tensor are zeros.
template <class T>
__device__ void stage_q(const split_kv_arguments& a, const block_work& w, T* q) {
  const int columns = a.lds.q_stride;
  for (int at = static_cast<int>(threadIdx.x); at < split_kv_tile_rows * columns; at += split_kv_threads) {
    const int row = at / columns, column = at % columns;
    const row_identity id = identify_row(a, w, row);
    T value{};
    if (id.exists && column < a.head_dim_qk)
      value =
          static_cast<const T*>(a.q.data)[id.query * a.q.stride[0] + id.head * a.q.stride[1] + column * a.q.stride[2]];
    q[at] = value;
  }
}

/// S = Q K^T of the tile: the waves take blocks of 16 keys in turn.
template <class Traits>
__device__ void compute_scores(const split_kv_arguments& a, const typename Traits::element* q,
                               const typename Traits::element* k, float* scores) {
  using element = typename Traits::element;
  const int stride = a.lds.q_stride, steps = (a.head_dim_qk + device::atom_depth - 1) / device::atom_depth;
  const int wave = device::wave_of_block(), waves = split_kv_threads / device::wave_lanes();
  for (int block = wave; block < split_kv_tile_keys / device::atom_columns; block += waves) {
    const element* keys = k + block * device::atom_columns * stride;
    device::accumulator<typename Traits::score> s;
    device::mma_chain<element>(
        s, steps, [&](int i, auto& f) { device::load_a(f, q + i * device::atom_depth, stride); },
        [&](int i, auto& f) { device::load_b_by_columns(f, keys + i * device::atom_depth, stride); });
    for (int i = 0; i < s.count(); ++i)
      scores[device::c_row(i) * split_kv_scores_stride + block * device::atom_columns + device::c_column(i)] =
          static_cast<float>(s.value[i]);  // int32 sums are below 2^23: exact
  }
}

/// O accumulators of a wave: columns (wave + i * waves) * 16 and up.
template <class Traits>
struct output_tile {
  device::accumulator<float> atom[Traits::max_atoms_per_wave];

  __device__ static int column(int i) {
    return (device::wave_of_block() + i * (split_kv_threads / device::wave_lanes())) * device::atom_columns;
  }

  /// O = O * alpha + P V
  __device__ void accumulate(const split_kv_arguments& a, const typename Traits::value* p,
                             const typename Traits::value* v, const float* alpha) {
    using value = typename Traits::value;
    const int stride = a.lds.v_stride;
    ASSAY_UNROLL
    for (int n = 0; n < Traits::max_atoms_per_wave; ++n) {
      if (column(n) >= a.head_dim_v) continue;
      for (int i = 0; i < atom[n].count(); ++i) atom[n].value[i] *= alpha[device::c_row(i)];
      device::mma_chain<value>(
          atom[n], split_kv_tile_keys / device::atom_depth,
          [&](int i, auto& f) { device::load_a(f, p + i * device::atom_depth, split_kv_p_stride); },
          [&](int i, auto& f) { device::load_b_by_rows(f, v + i * device::atom_depth * stride + column(n), stride); });
    }
  }

  /// Normalises and stores: o with one split, else the split's f32 partial.
  __device__ void store(const split_kv_arguments& a, const block_work& w, const float* l) const {
    ASSAY_UNROLL
    for (int i = 0; i < atom[0].count(); ++i) {
      const int row = device::c_row(i);
      const row_identity id = identify_row(a, w, row);
      if (!id.exists) continue;
      ASSAY_UNROLL
      for (int n = 0; n < Traits::max_atoms_per_wave; ++n) {
        const int at = column(n) + device::c_column(i);
        if (at >= a.head_dim_v) continue;
        // + 0 makes a negative zero positive: its sign would tell of keys that the row does not see.
        const float o = l[row] == 0.0F ? 0.0F : atom[n].value[i] / l[row] * a.v_scale + 0.0F;
        if (a.num_splits == 1) {
          const std::int64_t to = id.query * a.o.stride[0] + id.head * a.o.stride[1] + at * a.o.stride[2];
          static_cast<typename Traits::value*>(a.o.data)[to] = device::from_float<typename Traits::value>(o);
        } else {
          const device_tensor& t = a.o_partial;
          const std::int64_t to =
              w.split * t.stride[0] + id.query * t.stride[1] + id.head * t.stride[2] + at * t.stride[3];
          static_cast<float*>(t.data)[to] = o;
        }
      }
    }
  }
};

__device__ inline void store_lse(const split_kv_arguments& a, const block_work& w, const row_identity& id, float lse) {
  if (a.num_splits == 1)
    static_cast<float*>(a.lse.data)[id.query * a.lse.stride[0] + id.head * a.lse.stride[1]] = lse;
  else
    static_cast<float*>(a.lse_partial.data)[w.split * a.lse_partial.stride[0] + id.query * a.lse_partial.stride[1] +
                                            id.head * a.lse_partial.stride[2]] = lse;
}

template <class Traits>
__global__ void __launch_bounds__(split_kv_threads) split_kv_block(split_kv_arguments a) {
  using element = typename Traits::element;
  using value = typename Traits::value;
  using stored_k = typename Traits::stored_k;
  using stored_v = typename Traits::stored_v;
  HIP_DYNAMIC_SHARED(uint4, lds);
  unsigned char* const base = reinterpret_cast<unsigned char*>(lds);
  element* const q = reinterpret_cast<element*>(base);
  element* const k = reinterpret_cast<element*>(base + a.lds.kv_at);
  value* const v = reinterpret_cast<value*>(base + a.lds.kv_at);
  float* const scores = reinterpret_cast<float*>(base + a.lds.scores_at);
  value* const p = reinterpret_cast<value*>(base + a.lds.p_at);
  float* const per_row = reinterpret_cast<float*>(base + a.lds.row_at);  // alpha, in the end l

  const block_work work = find_work(a);
  if (work.first_row >= work.rows) return;

  const device::sequence_pages pages{a.page_indptr != nullptr ? a.pages + a.page_indptr[work.sequence]
                                                              : a.pages + work.sequence * a.block_table_stride,
                                     a.page_size};
  const device::pool_view<stored_k> k_pool{static_cast<const stored_k*>(a.k.data) + work.kv_head * a.k.stride[2],
                                           a.k.stride[0], a.k.stride[1]};
  const device::pool_view<stored_v> v_pool{static_cast<const stored_v*>(a.v.data) + work.kv_head * a.v.stride[2],
                                           a.v.stride[0], a.v.stride[1]};
  constexpr int pad = 8;
  const int k_columns = a.lds.q_stride - pad, v_columns = a.lds.v_stride - pad;

  // Lanes 8r .. 8r+7 of the block keep row r's softmax.
  const int thread = static_cast<int>(threadIdx.x), row = thread / device::softmax_lanes;
  const int row_lane = thread % device::softmax_lanes;
  const row_identity own = identify_row(a, work, row);
  device::softmax_state state;
  if (a.sinks != nullptr && work.split == 0 && own.exists) {
    state.m = a.sinks[own.head] * device::log2_e;
    state.l = state.m == device::no_logit ? 0.0F : 1.0F;
  }

  output_tile<Traits> o;
  if (work.first_tile < work.last_tile) {
    device::staged_tile<stored_k, split_kv_tile_keys, split_kv_threads, max_head_dim> staged_k;
    device::staged_tile<stored_v, split_kv_tile_keys, split_kv_threads, Traits::max_head_dim_v> staged_v;
    staged_k.load(k_pool, pages, work.visible, work.first_tile * split_kv_tile_keys, a.head_dim_qk, k_columns);
    stage_q(a, work, q);
    staged_k.store(k, a.lds.q_stride, k_columns);

    for (std::int32_t tile = work.first_tile; tile < work.last_tile; ++tile) {
      const std::int32_t first_key = tile * split_kv_tile_keys;
      __syncthreads();
      staged_v.load(v_pool, pages, work.visible, first_key, a.head_dim_v, v_columns);
      compute_scores<Traits>(a, q, k, scores);
      __syncthreads();

      staged_v.store(v, a.lds.v_stride, v_columns);
      float y[device::softmax_keys_per_lane];
      for (int i = 0; i < device::softmax_keys_per_lane; ++i) {
        const int column = row_lane + i * device::softmax_lanes;
        const std::int32_t key = first_key + column;
        y[i] = device::no_logit;
        if (is_visible(a, work, own, key))
          y[i] = base2_logit(a, own, key, scores[row * split_kv_scores_stride + column]);
      }
      const float alpha = state.update(y);
      for (int i = 0; i < device::softmax_keys_per_lane; ++i)
        p[row * split_kv_p_stride + row_lane + i * device::softmax_lanes] = device::from_float<value>(y[i]);
      if (row_lane == 0) per_row[row] = alpha;
      __syncthreads();

      const bool more = tile + 1 < work.last_tile;
      if (more) staged_k.load(k_pool, pages, work.visible, first_key + split_kv_tile_keys, a.head_dim_qk, k_columns);
      o.accumulate(a, p, v, per_row);
      __syncthreads();
      if (more) staged_k.store(k, a.lds.q_stride, k_columns);
    }
  }

  if (row_lane == 0) per_row[row] = state.l;
  if (row_lane == 0 && own.exists) store_lse(a, work, own, state.lse());
  __syncthreads();
  o.store(a, work, per_row);
}

template <class Traits>
void launch_block_kernel(const split_kv_arguments& arguments, split_kv_grid grid) {
  void (*const split_kv)(split_kv_arguments) = split_kv_block<Traits>;  // the name that the platform reports
  hipLaunchKernelGGL(split_kv, dim3(grid.blocks, grid.splits), dim3(split_kv_threads),
                     static_cast<unsigned int>(arguments.lds.size_bytes), platform::stream(), arguments);
}

template <class T, class StoredK, class StoredV, class V>
void launch_split_kv(const split_kv_arguments& arguments, split_kv_grid grid) {
  if (arguments.head_dim_v <= 64)
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, V, 64>>(arguments, grid);
  else if (arguments.head_dim_v <= 128)
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, V, 128>>(arguments, grid);
  else
    launch_block_kernel<split_kv_traits<T, StoredK, StoredV, V, max_head_dim>>(arguments, grid);
}

}  // namespace assay
