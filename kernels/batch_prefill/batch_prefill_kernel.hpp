/// FP8 batch prefill over a paged cache, software-pipelined. A block takes 64 consecutive query rows of one sequence
/// and one query head, 16 rows a wave, and walks over its keys in tiles of 64. While tile i is at work,
///   tile i + 1 lies in the other slot of the LDS double buffers,
///   tile i + 2 is on its way: loaded into registers, stored to tile i's slot when every wave is done with it,
///   tile i + 3 has its pages looked up: look-ups are issued before the loads that are under way next to them.
/// Descales per page travel with the tile's loads and wait in a ring of two registers, which is written only after the
/// tile that occupies the slot has read it.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/tile_in_flight.hpp"
#include "kernels/device/tile_softmax.hpp"

namespace assay {

/// Which rows, keys and tiles a block works on.
struct prefill_work {
  std::int32_t sequence, head, kv_head;
  std::int64_t first_query;  ///< the sequence's first row in q
  std::int32_t first_row;    ///< of the block, counted in the sequence
  std::int32_t rows;         ///< of the sequence
  std::int32_t num_keys;
  std::int64_t position;      ///< of the sequence's query row 0
  std::int32_t visible_keys;  ///< keys from there on no row of the block sees
  std::int32_t tiles;

  /// Keys from there on are hidden from the row.
  __device__ std::int32_t visible_to(const prefill_arguments& a, std::int32_t row) const {
    if (row >= rows) return 0;
    if (a.causal == 0) return num_keys;
    const std::int64_t end = position + row + 1;
    return static_cast<std::int32_t>(device::max_of<std::int64_t>(0, device::min_of<std::int64_t>(end, num_keys)));
  }
};

__device__ inline prefill_work find_prefill_work(const prefill_arguments& a) {
  prefill_work w;
  // All in x, whose extent is the only large one; the row tiles that share keys are neighbours.
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t row_tile = block % a.row_tiles, of_head = block / a.row_tiles;
  w.sequence = of_head / a.heads_q;
  w.head = of_head % a.heads_q;
  w.kv_head = w.head / a.group;
  w.first_row = row_tile * prefill_tile_rows;
  if (a.cu_seqlens_q != nullptr) {
    w.first_query = a.cu_seqlens_q[w.sequence];
    w.rows = a.cu_seqlens_q[w.sequence + 1] - a.cu_seqlens_q[w.sequence];
  } else {
    w.first_query = std::int64_t{w.sequence} * a.max_q;
    w.rows = a.max_q;
  }
  w.num_keys = a.seqlens_k[w.sequence];
  // Positions may lie before the first key or far behind the last: 64 bits.
  w.position = a.prefix_offset != nullptr ? a.prefix_offset[w.sequence] : std::int64_t{w.num_keys} - w.rows;
  w.visible_keys = w.visible_to(a, device::min_of(w.rows, w.first_row + prefill_tile_rows) - 1);
  w.tiles = (w.visible_keys + prefill_tile_keys - 1) / prefill_tile_keys;
  return w;
}

/// A block's pipeline and the state of the calling lane.
template <class T, class Out>
class prefill_pipeline {
  static constexpr int key_atoms = prefill_tile_keys / device::atom_columns;
  static constexpr int value_atoms = prefill_max_head_dim / device::atom_columns;
  static constexpr int qk_steps = prefill_max_head_dim / device::byte_atom_depth;
  static constexpr int pv_steps = prefill_tile_keys / device::byte_atom_depth;
  static constexpr int shift = prefill_p_shift(device::dtype_of<T>);
  using flight = device::tile_in_flight<prefill_waves, prefill_tile_keys, prefill_max_head_dim>;

  struct descales {
    float k, v;
  };

 public:
  __device__ __forceinline__ prefill_pipeline(const prefill_arguments& a, const prefill_work& w, unsigned char* lds)
      : a_(a), w_(w), lds_(lds) {
    const std::int32_t* const entries =
        a.page_indptr != nullptr ? a.pages + a.page_indptr[w.sequence] : a.pages + w.sequence * a.block_table_stride;
    pages_ = {entries, a.page_size, (w.visible_keys - 1) / a.page_size};
    k_pool_ = pool_of(a.k, a.head_dim_qk);
    v_pool_ = pool_of(a.v, a.head_dim_v);
    const int wave = device::wave_of_block();
    wave_row_ = w.first_row + wave * prefill_wave_rows;
    p_ = lds + a.lds.p_at + wave * prefill_wave_rows * prefill_key_stride;
    ASSAY_UNROLL
    for (int slot = 0; slot < device::row_slots(); ++slot) {
      softmax_.m[slot] = device::no_logit;
      softmax_.l[slot] = 0.0F;
      softmax_.visible_keys[slot] = w.visible_to(a, wave_row_ + device::row_of(slot));
    }
  }

  /// Computes and stores the block's rows. The whole block must call it.
  __device__ __forceinline__ void run() {
    if (w_.tiles > 0) {
      if (has_rows()) load_q();
      if (w_.tiles == 1)
        fill_one();
      else if (w_.tiles == 2)
        fill_two();
      else
        fill_many();
      __syncthreads();
      std::int32_t tile = 0;
      while (iterate<0>(tile) && iterate<1>(tile)) {
      }
    }
    if (has_rows()) store();
  }

 private:
  __device__ bool has_rows() const { return wave_row_ < w_.rows; }

  __device__ device::byte_pool pool_of(const device_tensor& t, std::int32_t columns) const {
    return {static_cast<const std::uint8_t*>(t.data) + w_.kv_head * t.stride[2], t.stride[0], t.stride[1], columns};
  }
  template <int Slot>
  __device__ unsigned char* k_slot() const {
    return lds_ + Slot * a_.lds.k_slot_bytes;
  }
  template <int Slot>
  __device__ unsigned char* v_slot() const {
    return lds_ + a_.lds.v_at + Slot * a_.lds.v_slot_bytes;
  }

  __device__ descales load_descales(std::int32_t page) const {
    if (a_.k_descale.data == nullptr) return {1.0F, 1.0F};
    const auto at = [&](const device_tensor& t) {
      return static_cast<const float*>(t.data)[page * t.stride[0] + w_.kv_head * t.stride[1]];
    };
    return {at(a_.k_descale), at(a_.v_descale)};
  }
  template <int Slot>
  __device__ void save_descales(const descales& d) {
    saved_k_descale_[Slot] = d.k;
    saved_v_descale_[Slot] = d.v;
  }

  /// The wave's rows of Q, where registers are few.
  __device__ unsigned char* q_in_lds() const {
    return lds_ + a_.lds.q_at + device::wave_of_block() * prefill_wave_rows * a_.lds.k_stride;
  }

  /// This lane's rows of Q, kept in registers or in LDS; rows and columns beyond the tensor are zeros.
  __device__ __forceinline__ void load_q() {
    ASSAY_UNROLL
    for (int step = 0; step < qk_steps; ++step) ASSAY_UNROLL
    for (int i = 0; i < device::fragment_words(); ++i) {
      const device::word_place at = device::word_coordinate(i);
      const std::int32_t row = wave_row_ + at.outer, column = step * device::byte_atom_depth + at.k;
      if (platform::has_few_registers && column >= a_.lds.k_stride - device::vector_elements) continue;
      std::uint32_t word = 0;
      if (row < w_.rows && column < a_.head_dim_qk) {
        const std::uint8_t* const from = static_cast<const std::uint8_t*>(a_.q.data) +
                                         (w_.first_query + row) * a_.q.stride[0] + w_.head * a_.q.stride[1];
        ASSAY_UNROLL
        for (int byte = 0; byte < 4; ++byte)
          word |= static_cast<std::uint32_t>(from[(column + byte) * a_.q.stride[2]]) << (8 * byte);
      }
      if constexpr (platform::has_few_registers)
        *reinterpret_cast<std::uint32_t*>(q_in_lds() + at.outer * a_.lds.k_stride + column) = word;
      else
        q_[step].word[i] = word;
    }
  }

  template <int Slot>
  __device__ __forceinline__ void store_tile(flight& staged, std::int32_t tile) {
    staged.store_k(k_slot<Slot>(), a_.lds.k_stride);
    staged.store_v(v_slot<Slot>(), prefill_key_stride, a_.head_dim_v, w_.visible_keys - tile * prefill_tile_keys);
  }

  /// Brings a tile into its slot with nothing in flight beside it.
  template <int Slot>
  __device__ __forceinline__ void fill(std::int32_t tile, const typename flight::page_ids& pages) {
    flight staged;
    staged.load(k_pool_, v_pool_, a_.page_size, tile, pages);
    save_descales<Slot>(load_descales(pages.of_tile()));
    if (tile == 0) held_v_descale_ = saved_v_descale_[Slot];
    store_tile<Slot>(staged, tile);
  }

  __device__ __forceinline__ void fill_one() { fill<0>(0, flight::look_up(pages_, 0)); }

  __device__ __forceinline__ void fill_two() {
    const typename flight::page_ids second = flight::look_up(pages_, 1);
    fill<0>(0, flight::look_up(pages_, 0));
    fill<1>(1, second);
  }

  __device__ __forceinline__ void fill_many() {
    const typename flight::page_ids second = flight::look_up(pages_, 1);
    fill<0>(0, flight::look_up(pages_, 0));
    next_pages_ = flight::look_up(pages_, 2);
    fill<1>(1, second);
  }

  /// One tile, in slot `Slot`; the slot is refilled with the tile after the next. Where all tiles lie in LDS from the
  /// start, nothing is. Returns whether there is a next tile.
  template <int Slot>
  __device__ __forceinline__ bool iterate(std::int32_t& tile) {
    const bool refills = w_.tiles > 2;
    typename flight::page_ids pages_after{};
    flight staged;
    descales staged_descales{};
    if (refills) {
      pages_after = flight::look_up(pages_, tile + 3);
      staged.load(k_pool_, v_pool_, a_.page_size, tile + 2, next_pages_);
      staged_descales = load_descales(next_pages_.of_tile());
    }

    consume<Slot>(tile);

    __syncthreads();  // every wave is done with the slot, and what was stored to the other one is there
    if (refills) {
      save_descales<Slot>(staged_descales);  // not earlier: consume() reads the slot
      store_tile<Slot>(staged, tile + 2);
      next_pages_ = pages_after;
    }
    return ++tile < w_.tiles;
  }

  /// S = Q K^T, softmax, O = O * alpha * ratio + P V.
  template <int Slot>
  __device__ __forceinline__ void consume(std::int32_t tile) {
    if (!has_rows()) return;
    const unsigned char* const k = k_slot<Slot>();
    const unsigned char* const v = v_slot<Slot>();
    device::accumulator<float> s[key_atoms];
    device::mma_panel<T, qk_steps>(
        s, key_atoms, (a_.head_dim_qk + device::byte_atom_depth - 1) / device::byte_atom_depth,
        [&](int i, device::fp8_fragment& f) {
          if constexpr (platform::has_few_registers)
            device::load_words(f, q_in_lds() + i * device::byte_atom_depth, a_.lds.k_stride);
          else
            f = q_[i];
        },
        [&](int n, int i, device::fp8_fragment& f) {
          device::load_words(f, k + n * device::atom_columns * a_.lds.k_stride + i * device::byte_atom_depth,
                             a_.lds.k_stride);
        });

    const float kd = saved_k_descale_[Slot];
    const device::logit_rule rule{a_.logit_scale * kd, a_.base2_logit_scale * kd, a_.soft_cap};
    float alpha[device::max_row_slots];
    softmax_.update(s, tile * prefill_tile_keys, rule, alpha);

    ASSAY_UNROLL
    for (int n = 0; n < key_atoms; ++n) ASSAY_UNROLL
    for (int i = 0; i < s[n].count(); ++i)
      p_[device::c_row(i) * prefill_key_stride + n * device::atom_columns + device::c_column(i)] =
          device::from_float<T>(s[n].value[i]).bits;
    platform::wave_fence();  // P goes to other lanes of the wave

    // O is kept in units of the last tile's v descale, so that P V needs no pass of its own.
    const float vd = saved_v_descale_[Slot];
    const float ratio = held_v_descale_ == vd ? 1.0F : held_v_descale_ / vd;
    held_v_descale_ = vd;
    ASSAY_UNROLL
    for (int n = 0; n < value_atoms; ++n) ASSAY_UNROLL
    for (int i = 0; i < o_[n].count(); ++i) o_[n].value[i] *= alpha[device::row_slot(i)] * ratio;
    device::mma_panel<T, pv_steps>(
        o_, a_.head_dim_v / device::atom_columns, pv_steps,
        [&](int i, device::fp8_fragment& f) {
          device::load_words(f, p_ + i * device::byte_atom_depth, prefill_key_stride);
        },
        [&](int n, int i, device::fp8_fragment& f) {
          device::load_words(f, v + n * device::atom_columns * prefill_key_stride + i * device::byte_atom_depth,
                             prefill_key_stride);
        });
  }

  /// Normalises and stores O, with the last v descale, and the LSE.
  __device__ __forceinline__ void store() const {
    float scale[device::max_row_slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < device::row_slots(); ++slot) {
      scale[slot] = a_.v_scale * held_v_descale_ / softmax_.l[slot];
      const std::int64_t row = wave_row_ + device::row_of(slot);
      if (device::leads_row() && row < w_.rows)
        static_cast<float*>(a_.lse.data)[(w_.first_query + row) * a_.lse.stride[0] + w_.head * a_.lse.stride[1]] =
            softmax_.lse(slot);
    }
    ASSAY_UNROLL
    for (int n = 0; n < value_atoms; ++n) {
      if (n * device::atom_columns >= a_.head_dim_v) break;
      ASSAY_UNROLL
      for (int i = 0; i < o_[n].count(); ++i) {
        const std::int64_t row = wave_row_ + device::c_row(i);
        if (row >= w_.rows) continue;
        const int slot = device::row_slot(i), column = n * device::atom_columns + device::c_column(i);
        // + 0 makes a negative zero positive: its sign would tell of keys that the row does not see.
        const float o = softmax_.l[slot] == 0.0F ? 0.0F : o_[n].value[i] * scale[slot] + 0.0F;
        static_cast<Out*>(
            a_.o.data)[(w_.first_query + row) * a_.o.stride[0] + w_.head * a_.o.stride[1] + column * a_.o.stride[2]] =
            device::from_float<Out>(o);
      }
    }
  }

  const prefill_arguments& a_;
  const prefill_work& w_;
  unsigned char* lds_;
  unsigned char* p_;       ///< the wave's own
  std::int32_t wave_row_;  ///< the wave's first row, counted in the sequence
  device::clamped_pages pages_;
  device::byte_pool k_pool_, v_pool_;
  typename flight::page_ids next_pages_;  ///< of the tile to be loaded next
  float saved_k_descale_[2], saved_v_descale_[2];
  float held_v_descale_ = 1.0F;  ///< O is in units of it
  device::fp8_fragment q_[qk_steps];
  device::accumulator<float> o_[value_atoms];
  device::tile_softmax<shift> softmax_;
};

template <class T, class Out>
__global__ void __launch_bounds__(prefill_waves* device::largest_wave) batch_prefill_block(prefill_arguments a) {
  HIP_DYNAMIC_SHARED(uint4, lds);
  const prefill_work work = find_prefill_work(a);
  if (work.first_row >= work.rows) return;
  prefill_pipeline<T, Out> pipeline(a, work, reinterpret_cast<unsigned char*>(lds));
  pipeline.run();
}

template <class T, class Out>
void launch_prefill(const prefill_arguments& arguments, prefill_grid grid) {
  void (*const batch_prefill)(prefill_arguments) = batch_prefill_block<T, Out>;  // the name that the platform reports
  hipLaunchKernelGGL(batch_prefill, dim3(grid.blocks), dim3(grid.threads),
                     static_cast<unsigned int>(arguments.lds.size_bytes), platform::stream(), arguments);
}

}  // namespace assay
