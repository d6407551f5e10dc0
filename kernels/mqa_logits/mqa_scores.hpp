/// The dot products of a block of mqa_logits. Each wave takes groups of keys, which come by a ring of its own and are
/// multiplied an atom of 16 at a time; the heads of the block's query rows lie in LDS for all of them.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/head_atoms.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/math.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"
#include "kernels/mqa_logits/mqa_work.hpp"

namespace assay {

inline constexpr float hidden_logit = -__builtin_huge_valf();

/// As the calling thread sees them.
template <class Heads, int MaxHeads, int MaxRows>
class mqa_scores {
  static constexpr int head_atoms = MaxHeads / Heads::atom_heads;  ///< of a query row
  using stored = typename Heads::stored;
  using sums = typename Heads::sums;
  static constexpr int key_atoms = mqa_group_keys / device::group_keys;  ///< of a group
  using pool = device::tiled_pool_view<stored>;
  using ring_type = device::key_ring<stored, stored, mqa_max_head_dim, 0, device::wave_crew<mqa_group_keys>, pool>;

 public:
  /// The whole block must come here.
  __device__ mqa_scores(const mqa_arguments& a, const mqa_work& w, unsigned char* lds)
      : a_(a),
        w_(w),
        panel_(lds, MaxHeads * MaxRows, a.head_dim),
        weights_(reinterpret_cast<float*>(lds + a.shape.weights_at)),
        pages_{a.page_indptr != nullptr ? a.pages + a.page_indptr[w.sequence]
                                        : a.pages + w.sequence * a.block_table_stride,
               a.page_size, a.by_page_size},
        group_(w.first / mqa_group_keys + device::wave_of_block()),
        ring_({pool_of(a), a.head_dim, Heads::keys::row_bytes(a.head_dim)}, {},
              {pages_, {0, w.visible}, group_, w.end / mqa_group_keys, waves(), a.has_whole_vectors != 0},
              ring_place(a, lds)) {
    find_scale(group_);
    ring_.start();
    load_scale(group_);
    find_scale(group_ + waves());
    load_heads();
    load_weights();
    platform::publish_lds();
    __syncthreads();
  }

  /// Calls store(row, column, logit) for each column that a row wants written. The whole block must come here.
  template <class Store>
  __device__ __forceinline__ void run(Store store_logit) {
    if constexpr (Heads::takes_time)
      run_meanwhile(store_logit);
    else
      run_in_turn(store_logit);
  }

 private:
  /// While products of a group's last atom are under way, the next group is waited for.
  template <class Store>
  __device__ __forceinline__ void run_meanwhile(Store store_logit) {
    typename Heads::keys keys;
    if (is_mine(group_)) {
      ring_.advance();
      keys.load(rows_of(0), a_.head_dim);
    }
#pragma unroll 1
    for (std::int32_t first = w_.first; first < w_.end; first += waves() * mqa_group_keys) {
      const bool has_keys = is_mine(group_), has_next = is_mine(group_ + waves());
      float scale = 0.0F;
      ASSAY_UNROLL
      for (int atom = 0; atom < key_atoms; ++atom) {
        const bool is_last = atom + 1 == key_atoms, has_more = is_last ? has_next : has_keys;
        sums dots[MaxRows * head_atoms];
        Heads::begin(dots, [&](int of_heads) { return is_wanted(of_heads); }, panel_, keys, has_keys);
        if (atom == 0) scale = take_scale();
        if (is_last && has_next) ring_.advance();
        Heads::finish(dots);
        if (has_more) keys.load(rows_of(is_last ? 0 : atom + 1), a_.head_dim);
        if (has_keys) store_atom(atom, dots, scale, store_logit);
      }
      group_ += waves();
    }
  }

  /// The products are there when they have begun: then no wave needs those without keys. Scales come first: the wait
  /// for their pages' numbers is one for all loads before it, as that of the ring.
  template <class Store>
  __device__ __forceinline__ void run_in_turn(Store store_logit) {
#pragma unroll 1
    for (; is_mine(group_); group_ += waves()) {
      const float scale = take_scale();
      ring_.advance();
      ASSAY_UNROLL
      for (int atom = 0; atom < key_atoms; ++atom) {
        typename Heads::keys keys;
        keys.load(rows_of(atom), a_.head_dim);
        sums dots[MaxRows * head_atoms];
        Heads::begin(dots, [&](int of_heads) { return is_wanted(of_heads); }, panel_, keys, true);
        Heads::finish(dots);
        store_atom(atom, dots, scale, store_logit);
      }
    }
  }

  __device__ bool is_wanted(int atom) const { return atom / head_atoms < w_.rows && atom % head_atoms < atoms(); }

  /// The keys of an atom of the group that is in LDS.
  __device__ device::swizzled_rows rows_of(int atom) const { return ring_.keys().from(atom * device::group_keys); }

  /// Of the lane's key of the group; starts the loads of the next ones.
  __device__ float take_scale() {
    const float scale = scale_;
    load_scale(group_ + waves());
    find_scale(group_ + 2 * waves());
    return scale;
  }

  __device__ static int waves() { return mqa_threads / device::wave_lanes(); }
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  /// Of a query row, atoms that are multiplied.
  __device__ int atoms() const {
    return Heads::multiplies_all ? head_atoms : (a_.heads + Heads::atom_heads - 1) / Heads::atom_heads;
  }

  /// Preshuffled keys lie in tiles of 16 keys by 16 elements.
  __device__ static pool pool_of(const mqa_arguments& a) {
    const auto* const data = static_cast<const stored*>(a.k.data);
    if (a.preshuffled != 0) return {data, a.k.stride[0], std::int64_t{16} * a.head_dim, 16, 256};
    return {data, a.k.stride[0], 16 * a.k.stride[1], a.k.stride[1], 16};
  }

  __device__ static device::ring_place ring_place(const mqa_arguments& a, unsigned char* lds) {
    const int bytes = a.shape.slots * mqa_group_keys * device::swizzled_run_bytes;
    return {lds + a.shape.ring_at + device::wave_of_block() * bytes, device::swizzled_run_bytes, 0, a.shape.slots};
  }

  /// The rows' heads to LDS; those that are multiplied, but do not exist, are zeros. Some chunks of a thread are on
  /// their way at once.
  __device__ void load_heads() {
    constexpr int at_once = 4;
    const int chunks = a_.head_dim / 16, heads = padded_heads(), all = w_.rows * heads * chunks;
#pragma unroll 1
    for (int first = thread(); first < all; first += at_once * mqa_threads) {
      uint4 codes[at_once];
      int place[at_once], chunk[at_once];
      ASSAY_UNROLL
      for (int i = 0; i < at_once; ++i) {
        const int at = first + i * mqa_threads, of_row = at / chunks, row = of_row / heads, head = of_row % heads;
        chunk[i] = at % chunks, place[i] = row * MaxHeads + head;
        codes[i] = make_uint4(0, 0, 0, 0);
        if (at < all && head < a_.heads) codes[i] = codes_of(row, head, chunk[i]);
      }
      ASSAY_UNROLL
      for (int i = 0; i < at_once; ++i)
        if (first + i * mqa_threads < all) panel_.store(place[i], chunk[i], codes[i]);
    }
  }
  /// Of a head 16 codes.
  __device__ uint4 codes_of(int row, int head, int chunk) const {
    const std::uint8_t* const from =
        static_cast<const std::uint8_t*>(a_.q.data) + (w_.query + row) * a_.q.stride[0] + head * a_.q.stride[1];
    if (a_.has_whole_heads != 0) return *reinterpret_cast<const uint4*>(from + chunk * 16);
    alignas(16) std::uint8_t codes[16];
    ASSAY_UNROLL
    for (int i = 0; i < 16; ++i) codes[i] = from[(chunk * 16 + i) * a_.q.stride[2]];
    return *reinterpret_cast<const uint4*>(codes);
  }
  __device__ void load_weights() {
    const int heads = padded_heads();
    for (int at = thread(); at < w_.rows * heads; at += mqa_threads) {
      const int row = at / heads, head = at % heads;
      const float* const from = static_cast<const float*>(a_.weights.data) + (w_.query + row) * a_.weights.stride[0];
      weights_[row * MaxHeads + head] = head < a_.heads ? from[head * a_.weights.stride[1]] : 0.0F;
    }
  }
  /// Of a query row, as many as are multiplied.
  __device__ int padded_heads() const { return atoms() * Heads::atom_heads; }

  __device__ bool is_mine(std::int32_t group) const { return group * mqa_group_keys < w_.end; }

  /// The key of group `group` whose scale the lane loads; that of the last key stands in for those behind it, which no
  /// row sees. Without a condition, for which the compiler would wait for all loads that are under way.
  __device__ std::int32_t scaled_key_of(std::int32_t group) const {
    return device::min_of(group * mqa_group_keys + thread() % mqa_group_keys, w_.visible - 1);
  }
  /// The page of its scale, which load_scale() loads when the page's number has come.
  __device__ void find_scale(std::int32_t group) { scale_page_ = pages_.page_of(scaled_key_of(group)); }
  __device__ void load_scale(std::int32_t group) {
    const auto* const scales = static_cast<const float*>(a_.k_row_scale.data);
    const std::int32_t slot = pages_.slot_of(scaled_key_of(group));
    scale_ = scales[scale_page_ * a_.k_row_scale.stride[0] + slot * a_.k_row_scale.stride[1]];
  }

  /// Weighs the heads' dot products of an atom of the wave's group and stores the rows' logits. scale_of_lane: that
  /// of the group's key of the lane's number.
  template <class Store>
  __device__ __forceinline__ void store_atom(int key_atom, const sums (&dots)[MaxRows * head_atoms],
                                             float scale_of_lane, Store store_logit) const {
    const int own_key = key_atom * device::group_keys + Heads::own_key();
    const float scale = __shfl(scale_of_lane, own_key, mqa_group_keys);
    sums weighted[MaxRows];
    ASSAY_UNROLL
    for (int row = 0; row < MaxRows; ++row) {
      if (row >= w_.rows) continue;
      ASSAY_UNROLL
      for (int atom = 0; atom < head_atoms; ++atom) {
        if (atom >= atoms()) continue;
        sums weights;
        Heads::load_weights(weights, weights_ + row * MaxHeads + atom * Heads::atom_heads);
        ASSAY_UNROLL
        for (int i = 0; i < weights.count(); ++i) {
          const float dot = dots[row * head_atoms + atom].value[i];
          weighted[row].value[i] = fmaf(weights.value[i], device::relu(dot), weighted[row].value[i]);
        }
      }
    }
    const std::int32_t key = group_ * mqa_group_keys + own_key;
    Heads::sum(weighted, w_.rows, [&](std::int32_t row, float sum) {
      // Selected, not multiplied: a key that the row does not see may hold NaN.
      const bool is_seen = w_.sees(row, key);
      if (is_seen || a_.fills_hidden != 0) store_logit(row, key, is_seen ? sum * scale : hidden_logit);
    });
  }

  const mqa_arguments& a_;
  const mqa_work& w_;
  typename Heads::panel panel_;
  float* weights_;
  device::sequence_pages pages_;
  std::int32_t group_;  ///< of the wave: its keys are mqa_group_keys * group_ and what follows
  ring_type ring_;
  float scale_;              ///< of the lane's key in the group that comes next
  std::int32_t scale_page_;  ///< where that of the group behind it lies
};

}  // namespace assay
