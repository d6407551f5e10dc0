/// What the paged MQA logits kernels are made of: which columns a block owns, and the stages of 128 keys in which it
/// computes them. While stage i is at work in one slot of the LDS double buffer,
///   stage i + 1 is on its way: loaded into registers, stored to the other slot when the wave is done with stage i,
///   stage i + 2 has its pages looked up.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/math.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/mma/columns.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"

namespace assay {

inline constexpr float hidden_logit = -__builtin_huge_valf();

__device__ inline std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// Which row and columns a block works on. Columns past max_model_len do not exist: of a longer context, which no legal
/// problem has, only the keys below it are looked at.
struct mqa_work {
  std::int32_t sequence;
  std::int64_t query;    ///< row of q, weights and logits
  std::int32_t visible;  ///< keys [0, visible) are visible to the row
  std::int64_t first;    ///< the block's columns: [first, last); first is a multiple of the stage
  std::int64_t last;
  std::int64_t end;  ///< columns [first, end) are computed: in whole pages and matrix atoms, so `end` may pass `last`

  __device__ bool owns(std::int64_t column) const { return first <= column && column < last; }
  __device__ std::int64_t full_stages() const { return (end - first) / mqa_stage_keys; }
  /// Atoms of 16 keys behind the last full stage.
  __device__ int tail_atoms() const { return static_cast<int>((end - first) % mqa_stage_keys) / device::atom_columns; }
};

/// `part_of(context)`: the length of the parts into which the context is cut. Every column belongs to one part: the
/// last one reaches to max_model_len.
template <class PartOf>
__device__ mqa_work find_mqa_work(const mqa_arguments& a, PartOf part_of) {
  mqa_work w;
  const auto split = static_cast<std::int32_t>(blockIdx.x), row = static_cast<std::int32_t>(blockIdx.y);
  w.sequence = static_cast<std::int32_t>(blockIdx.z);
  w.query = std::int64_t{w.sequence} * a.next_n + row;
  const auto clamp_to_columns = [&](std::int64_t keys) {
    return device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(keys, a.max_model_len));
  };
  const std::int64_t context = a.seqlens_k[w.sequence];
  w.visible = static_cast<std::int32_t>(clamp_to_columns(context - a.next_n + row + 1));

  const std::int64_t part = part_of(clamp_to_columns(context)), part_end = (split + 1) * part;
  const bool is_last = split + 1 == a.num_splits;
  w.first = clamp_to_columns(split * part);
  w.last = is_last ? a.max_model_len : clamp_to_columns(part_end);
  const std::int64_t needed = device::min_of(round_up(round_up(w.visible, a.page_size), device::atom_columns),
                                             round_up(w.visible, mqa_stage_keys));
  w.end = device::max_of(w.first, is_last ? needed : device::min_of(needed, part_end));
  return w;
}

/// The pipeline of a block, as the calling thread sees it.
template <class T>
class mqa_stages {
  static constexpr int stage_atoms = mqa_stage_keys / device::atom_columns;
  static constexpr int dim_steps = mqa_max_head_dim / device::byte_atom_depth;
  static constexpr int wave_atoms = stage_atoms / (mqa_threads / device::largest_wave);
  static constexpr int thread_vectors = mqa_stage_keys * mqa_max_head_dim / (device::vector_elements * mqa_threads);

 public:
  /// The first stage will be in `slot`. The whole block must come here and to the stages.
  __device__ mqa_stages(const mqa_arguments& a, const mqa_work& w, mqa_lds& lds, int slot)
      : a_(a), w_(w), lds_(lds), first_key_(static_cast<std::int32_t>(w.first)) {
    const std::int32_t* const entries =
        a.page_indptr != nullptr ? a.pages + a.page_indptr[w.sequence] : a.pages + w.sequence * a.block_table_stride;
    pages_ = {entries, a.page_size, (w.visible - 1) / a.page_size};
    publish_rows(slot, first_key_, look_up(first_key_));
    __syncthreads();
    load(slot);
    const std::int32_t next = first_key_ + mqa_stage_keys, page = look_up(next);
    load_query();
    store(slot);
    publish_rows(slot ^ 1, next, page);
  }

  /// All of a stage, which lies in `slot`: calls store(column, logit) for each column that the row wants written.
  template <class Store>
  __device__ void run(int slot, Store store_logit) {
    run(slot, stage_atoms, store_logit);
  }

  /// The first `atoms` times 16 keys of it.
  template <class Store>
  __device__ void run(int slot, int atoms, Store store_logit) {
    __syncthreads();  // the stage is there, and every wave is done with the other slot
    const bool more = first_key_ + mqa_stage_keys < w_.end;
    if (more) load(slot ^ 1);
    const std::int32_t after_next = first_key_ + 2 * mqa_stage_keys, page = look_up(after_next);
    score(slot, atoms, store_logit);
    if (more) store(slot ^ 1);
    publish_rows(slot, after_next, page);  // the slot's own rows have been loaded before the barrier
    first_key_ += mqa_stage_keys;
  }

 private:
  __device__ int head_atoms() const { return (a_.heads + device::atom_rows - 1) / device::atom_rows; }
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  /// Page of this thread's key of the stage from `first_key` on. Look-ups run ahead of the context's end: the clamp
  /// leads them to the last page that the row sees.
  __device__ std::int32_t look_up(std::int32_t first_key) const { return pages_.look_up(first_key + thread()); }

  /// Tells all threads where the key's row starts. 64 bits: a pool may be larger than 4 GiB.
  __device__ void publish_rows(int slot, std::int32_t first_key, std::int32_t page) {
    const std::int32_t in_page = (first_key + thread()) % a_.page_size;
    const std::int64_t row = a_.preshuffled != 0 ? in_page / 16 * (std::int64_t{16} * a_.head_dim) + in_page % 16 * 16
                                                 : in_page * a_.k.stride[1];
    lds_.row_at[slot][thread()] = page * a_.k.stride[0] + row;
    scale_at_ = page * a_.k_row_scale.stride[0] + in_page * a_.k_row_scale.stride[1];
  }

  struct place {
    int key;  ///< of the stage
    int column;
  };
  /// What this thread moves as its vector i: neighbouring threads move what lies side by side in memory.
  __device__ place place_of(int i) const {
    const int vector = thread() + i * mqa_threads;
    if (a_.preshuffled == 0) {
      const int per_key = a_.head_dim / device::vector_elements;
      return {vector / per_key, vector % per_key * device::vector_elements};
    }
    constexpr int per_tile = 16 * 16 / device::vector_elements;
    const int tile = vector / per_tile, in_tile = vector % per_tile, tiles = a_.head_dim / 16;
    return {tile / tiles * 16 + in_tile / 2, tile % tiles * 16 + in_tile % 2 * device::vector_elements};
  }

  /// Issues the loads of the stage whose rows were published for `slot`. Keys behind the context's end come from
  /// wherever the clamp leads.
  __device__ void load(int slot) {
    ASSAY_UNROLL
    for (int i = 0; i < thread_vectors; ++i) {
      if (i * device::vector_elements >= a_.head_dim) break;
      const place at = place_of(i);
      const int in_row = a_.preshuffled != 0 ? at.column / 16 * 256 + at.column % 16 : at.column;
      vectors_[i] = device::load8(static_cast<const T*>(a_.k.data) + lds_.row_at[slot][at.key] + in_row);
    }
    k_row_scale_ = static_cast<const float*>(a_.k_row_scale.data)[scale_at_];
  }

  __device__ void store(int slot) {
    ASSAY_UNROLL
    for (int i = 0; i < thread_vectors; ++i) {
      if (i * device::vector_elements >= a_.head_dim) break;
      const place at = place_of(i);
      device::store8(&lds_.k[slot][at.key * mqa_row_stride + at.column], vectors_[i]);
    }
    lds_.k_row_scale[slot][thread()] = k_row_scale_;
  }

  /// The row's heads and their weights to LDS; heads up to a whole atom are zeros.
  __device__ void load_query() {
    const auto* const q = static_cast<const std::uint8_t*>(a_.q.data) + w_.query * a_.q.stride[0];
    const float* const weights = static_cast<const float*>(a_.weights.data) + w_.query * a_.weights.stride[0];
    const int padded_heads = head_atoms() * device::atom_rows, per_head = a_.head_dim / 4;
    for (int at = thread(); at < padded_heads * per_head; at += mqa_threads) {
      const int head = at / per_head, column = at % per_head * 4;
      std::uint32_t word = 0;
      if (head < a_.heads) {
        const std::uint8_t* const from = q + head * a_.q.stride[1];
        ASSAY_UNROLL
        for (int byte = 0; byte < 4; ++byte)
          word |= static_cast<std::uint32_t>(from[(column + byte) * a_.q.stride[2]]) << (8 * byte);
      }
      *reinterpret_cast<std::uint32_t*>(&lds_.q[head * mqa_row_stride + column]) = word;
    }
    if (thread() < padded_heads)
      lds_.weights[thread()] = thread() < a_.heads ? weights[thread() * a_.weights.stride[1]] : 0.0F;
  }

  /// Heads by keys in matrix atoms, 16 keys a column tile; the waves take the tiles in turn.
  template <class Store>
  __device__ void score(int slot, int atoms, Store store_logit) const {
    const int waves = mqa_threads / device::wave_lanes(), wave = device::wave_of_block();
    const int mine = (atoms - wave + waves - 1) / waves;
    if (mine <= 0) return;
    const auto key_of = [&](int n) { return (wave + n * waves) * device::atom_columns; };

    device::accumulator<float> logits[wave_atoms];
#pragma unroll 1  // the panel is unrolled already
    for (int first_head = 0; first_head < a_.heads; first_head += device::atom_rows) {
      device::accumulator<float> dots[wave_atoms];
      device::mma_panel<T, dim_steps>(
          dots, mine, a_.head_dim / device::byte_atom_depth,
          [&](int i, device::fp8_fragment& f) {
            device::load_words(f, &lds_.q[first_head * mqa_row_stride + i * device::byte_atom_depth], mqa_row_stride);
          },
          [&](int n, int i, device::fp8_fragment& f) {
            device::load_words(f, &lds_.k[slot][key_of(n) * mqa_row_stride + i * device::byte_atom_depth],
                               mqa_row_stride);
          });
      ASSAY_UNROLL
      for (int n = 0; n < wave_atoms; ++n) {
        if (n >= mine) break;
        ASSAY_UNROLL
        for (int i = 0; i < dots[n].count(); ++i) {
          const float dot = dots[n].value[i];
          logits[n].value[i] =
              fmaf(lds_.weights[first_head + device::c_row(i)], dot < 0.0F ? 0.0F : dot, logits[n].value[i]);
        }
      }
    }
    ASSAY_UNROLL
    for (int n = 0; n < wave_atoms; ++n) {
      if (n >= mine) break;
      float sums[device::column_slots];
      device::sum_columns(logits[n], sums);
      if (!device::leads_columns()) continue;
      ASSAY_UNROLL
      for (int column_slot = 0; column_slot < device::column_slots; ++column_slot) {
        const int in_stage = key_of(n) + device::column_of(column_slot);
        const std::int64_t key = std::int64_t{first_key_} + in_stage;
        const float logit = sums[column_slot] * lds_.k_row_scale[slot][in_stage];
        // Selected, not multiplied: dead slots may hold NaN.
        if (key < w_.visible)
          store_logit(key, logit);
        else if (a_.fills_hidden != 0)
          store_logit(key, hidden_logit);
      }
    }
  }

  const mqa_arguments& a_;
  const mqa_work& w_;
  mqa_lds& lds_;
  std::int32_t first_key_;  ///< of the stage at work
  device::clamped_pages pages_;
  std::int64_t scale_at_;  ///< of this thread's key in the stage to be loaded next
  float k_row_scale_;
  device::packed<1> vectors_[thread_vectors];
};

}  // namespace assay
