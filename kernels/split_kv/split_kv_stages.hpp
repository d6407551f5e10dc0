/// What a block of split_kv works on: its rows, keys and groups of keys, and what a row's logits are.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/convert.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

/// Which rows, keys and groups a block works on. Without rows, what follows `rows` is not set.
struct block_work {
  std::int32_t sequence, kv_head, split, num_keys;
  std::int32_t first_query;              ///< the sequence's first row in q
  std::int32_t first_row;                ///< of the block, counting rows times group
  std::int32_t rows;                     ///< of the sequence, counting rows times group
  std::int64_t position;                 ///< of the sequence's query row 0
  device::key_range visible;             ///< to any row of the block
  device::key_range common;              ///< to each of them
  std::int32_t first_group, last_group;  ///< [first, last) of this split that hold visible keys
};

/// A key's number, or the next one that the sequence has.
__device__ inline std::int32_t clamp_to_keys(std::int64_t key, std::int32_t num_keys) {
  return static_cast<std::int32_t>(device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(key, num_keys)));
}

/// Groups that hold keys 0 to `keys` - 1. No sum goes beyond 32 bits, however many there are.
template <int GroupKeys>
__device__ std::int32_t groups_of_keys(std::int32_t keys) {
  return keys / GroupKeys + (keys % GroupKeys != 0 ? 1 : 0);
}

/// GroupKeys: of split_kv_group_keys().
template <int GroupKeys>
__device__ block_work find_work(const split_kv_arguments& a) {
  block_work w;
  // All in x, whose extent is the only large one; the row tiles that share keys are neighbours.
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t of_head = a.by_row_tiles.quotient(block), row_tile = block - of_head * a.row_tiles;
  w.sequence = a.by_heads_kv.quotient(of_head);
  w.kv_head = of_head - w.sequence * a.heads_kv;
  w.split = static_cast<std::int32_t>(blockIdx.y);
  // All of the sequence's numbers are loaded before one of them is looked at: the block waits once.
  w.num_keys = a.seqlens_k[w.sequence];
  const bool has_offset = a.prefix_offset != nullptr, is_batch = a.cu_seqlens_q == nullptr;
  const std::int32_t offset = has_offset ? a.prefix_offset[w.sequence] : 0;
  w.first_query = is_batch ? w.sequence * a.max_q : a.cu_seqlens_q[w.sequence];  // at most total_q
  const std::int32_t queries = is_batch ? a.max_q : a.cu_seqlens_q[w.sequence + 1] - w.first_query;
  w.rows = queries * a.group;
  w.first_row = row_tile * a.shape.rows;
  if (w.first_row >= w.rows) return w;  // a shorter sequence than the longest: in large batches most blocks end here
  // Positions may lie before the first key or far behind the last: 64 bits.
  w.position = has_offset ? offset : std::int64_t{w.num_keys} - queries;

  const std::int32_t last_row = device::min_of(w.rows, w.first_row + a.shape.rows) - 1;
  const std::int64_t lowest = w.position + a.by_group.quotient(w.first_row),
                     highest = w.position + a.by_group.quotient(last_row);
  w.visible.first = a.window > 0 ? clamp_to_keys(lowest - a.window + 1, w.num_keys) : 0;
  w.visible.last = a.causal != 0 ? clamp_to_keys(highest + 1, w.num_keys) : w.num_keys;
  w.common.first = a.window > 0 ? clamp_to_keys(highest - a.window + 1, w.num_keys) : 0;
  w.common.last = a.causal != 0 ? clamp_to_keys(lowest + 1, w.num_keys) : w.num_keys;

  // Splits cut the whole sequence, whatever the mask shows of it: the cut must not depend on the row. Groups of all
  // splits, rounded up, are at most 2^27 + max_num_splits, as the divisor needs.
  const std::int32_t groups = groups_of_keys<GroupKeys>(w.num_keys);
  const std::int32_t per_split = a.by_num_splits.quotient(groups + a.num_splits - 1);
  w.first_group = device::max_of(w.visible.first / GroupKeys, device::min_of(w.split * per_split, groups));
  w.last_group = device::min_of(groups_of_keys<GroupKeys>(w.visible.last), (w.split + 1) * per_split);
  if (w.visible.first >= w.visible.last) w.last_group = w.first_group;
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
  const std::int32_t packed = w.first_row + row, query = a.by_group.quotient(packed);
  return {packed < w.rows, std::int64_t{w.first_query} + query, w.kv_head * a.group + packed - query * a.group,
          w.position + query};
}

/// The keys that the mask shows a row.
__device__ inline device::key_range visible_to(const split_kv_arguments& a, const block_work& w,
                                               const row_identity& row) {
  if (!row.exists) return {0, 0};
  return {a.window > 0 ? clamp_to_keys(row.position - a.window + 1, w.num_keys) : 0,
          a.causal != 0 ? clamp_to_keys(row.position + 1, w.num_keys) : w.num_keys};
}

__device__ inline float bias_at(const split_kv_arguments& a, const row_identity& row, std::int32_t key) {
  const std::int64_t at = row.head * a.bias.stride[0] + row.query * a.bias.stride[1] + key * a.bias.stride[2];
  switch (a.bias_type) {
    case dtype::f16: return to_float(static_cast<const device::f16*>(a.bias.data)[at]);
    case dtype::bf16: return to_float(static_cast<const device::bf16*>(a.bias.data)[at]);
    default: return static_cast<const float*>(a.bias.data)[at];
  }
}

/// Without soft cap and bias a logit is its dot product, scaled once.
__device__ inline bool has_plain_logits(const split_kv_arguments& a) {
  return a.soft_cap == 0.0F && a.bias.data == nullptr;
}

/// Base-2 logit of a visible key from the dot product, with soft cap or bias. Each operation rounds once; the contract
/// lists them.
__device__ inline float base2_logit(const split_kv_arguments& a, const block_work& w, int row, std::int32_t key,
                                    float dot) {
  float x = dot * a.logit_scale;
  if (a.soft_cap > 0.0F) x = a.soft_cap * device::tanh(x / a.soft_cap);
  if (a.bias.data != nullptr) x += bias_at(a, identify_row(a, w, row), key);
  return x * device::log2_e;
}

/// Where the elements of a row of Q begin.
template <class T>
__device__ const T* row_of_q(const split_kv_arguments& a, const row_identity& id) {
  return static_cast<const T*>(a.q.data) + id.query * a.q.stride[0] + id.head * a.q.stride[1];
}

/// Threads side by side that move a row of Q: any block has so many.
inline constexpr int lanes_of_query_row = 32;

/// move(row of q, element, offset in LDS, whether it is in the tensor) for each piece of `elements` of the block's rows
/// of Q, columns up to a whole atom among them. What is not in the tensor is to be zeros.
template <class T, class Move>
__device__ void for_each_piece_of_q(const split_kv_arguments& a, const block_work& w, const device::swizzled_rows& q,
                                    int elements, Move move) {
  const int columns = (a.head_dim_qk + 15) / 16 * 16, thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int row = thread / lanes_of_query_row; row < a.shape.rows;
       row += a.shape.waves * a.shape.lanes / lanes_of_query_row) {
    const row_identity id = identify_row(a, w, row);
#pragma unroll 1
    for (int column = thread % lanes_of_query_row * elements; column < columns;
         column += lanes_of_query_row * elements) {
      const int byte = column * static_cast<int>(sizeof(T));
      move(row_of_q<T>(a, id), column, q.chunk_offset(row, byte / device::chunk_bytes) + byte % device::chunk_bytes,
           id.exists && column < a.head_dim_qk);
    }
  }
}
/// Q's rows of the block to LDS. Where copies are asynchronous, they may have just begun: they are a group of their
/// own.
template <class T>
__device__ void stage_q(const split_kv_arguments& a, const block_work& w, const device::swizzled_rows& q) {
  if (a.has_whole_queries != 0) {
    constexpr int elements = device::chunk_bytes / static_cast<int>(sizeof(T));
    const platform::lds_place base = platform::place_in_lds(q.base);
    for_each_piece_of_q<T>(a, w, q, elements, [&](const T* row, int column, int offset, bool exists) {
      platform::begin_copy<device::chunk_bytes>(base + offset, row + column, exists);
    });
  } else {
    for_each_piece_of_q<T>(a, w, q, 1, [&](const T* row, int column, int offset, bool exists) {
      *reinterpret_cast<T*>(q.base + offset) = exists ? row[column * a.q.stride[2]] : T{};
    });
  }
  platform::commit_copies();
}

__device__ inline void store_lse(const split_kv_arguments& a, const block_work& w, const row_identity& id, float lse) {
  if (a.num_splits == 1)
    static_cast<float*>(a.lse.data)[id.query * a.lse.stride[0] + id.head * a.lse.stride[1]] = lse;
  else
    static_cast<float*>(a.lse_partial.data)[w.split * a.lse_partial.stride[0] + id.query * a.lse_partial.stride[1] +
                                            id.head * a.lse_partial.stride[2]] = lse;
}

/// Stores columns of O side by side: to o with one split, else to the split's f32 partial.
template <class Output, int Columns>
__device__ void store_o(const split_kv_arguments& a, const block_work& w, const row_identity& id, int column,
                        const float (&o)[Columns]) {
  if (a.num_splits == 1) {
    const std::int64_t to = id.query * a.o.stride[0] + id.head * a.o.stride[1];
    ASSAY_UNROLL
    for (int i = 0; i < Columns; ++i)
      static_cast<Output*>(a.o.data)[to + (column + i) * a.o.stride[2]] = device::from_float<Output>(o[i]);
  } else {
    const device_tensor& t = a.o_partial;
    const std::int64_t to = w.split * t.stride[0] + id.query * t.stride[1] + id.head * t.stride[2];
    ASSAY_UNROLL
    for (int i = 0; i < Columns; ++i) static_cast<float*>(t.data)[to + (column + i) * t.stride[3]] = o[i];
  }
}

}  // namespace assay
