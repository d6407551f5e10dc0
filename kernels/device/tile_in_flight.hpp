/// Moves FP8 tiles of 64 keys from a paged pool through registers to LDS. Page look-ups, loads and stores are separate
/// steps, so each can run ahead of the step that needs it.
///
/// A thread moves patches of 4 keys by 8 columns: V is transposed on its way, 4 by 4 bytes at a time, so that the
/// matrix unit reads it along the keys. 16 threads side by side share 4 keys.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/mma.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

/// Page ids of one sequence. Look-ups run ahead of the sequence's end without a branch; the clamp keeps them in the
/// table, at the last page that holds a key which the block sees.
struct clamped_pages {
  const std::int32_t* entries;
  std::int32_t page_size;
  std::int32_t max_page_table_idx;  ///< mandatory: entries behind it may be anything, or not be there

  __device__ std::int32_t look_up(std::int32_t key) const {
    return entries[min_of(key / page_size, max_page_table_idx)];
  }
};

/// One kv head of K or V; strides count elements, which are bytes. 64 bits: a pool may be larger than 4 GiB.
struct byte_pool {
  const std::uint8_t* data;
  std::int64_t page_stride;
  std::int64_t slot_stride;
  std::int32_t columns;  ///< a multiple of 16

  __device__ const std::uint8_t* row(std::int32_t page, std::int32_t slot) const {
    return data + page * page_stride + slot * slot_stride;
  }
};

template <int Waves, int Keys, int MaxColumns>
class tile_in_flight {
  static constexpr int patch_keys = 4;
  static constexpr int vectors_per_row = MaxColumns / vector_elements;
  static constexpr int max_patches = Keys * vectors_per_row / (patch_keys * Waves * smallest_wave);

  __device__ static int threads() { return Waves * wave_lanes(); }
  __device__ static int patches() { return Keys * vectors_per_row / (patch_keys * threads()); }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % vectors_per_row * vector_elements; }
  __device__ static int first_row(int patch) {
    return (static_cast<int>(threadIdx.x) + patch * threads()) / vectors_per_row * patch_keys;
  }

 public:
  /// Pages of the keys that this thread moves.
  struct early_page_ids {
    std::int32_t id[max_patches][patch_keys];
    __device__ std::int32_t at(int patch, int key) const { return id[patch][key]; }
    /// Of the whole tile, where tiles do not cross pages.
    __device__ std::int32_t of_tile() const { return id[0][0]; }
  };
  /// The same, looked up when they are asked for.
  struct late_page_ids {
    clamped_pages pages;
    std::int32_t tile;
    __device__ std::int32_t at(int patch, int key) const { return pages.look_up(tile * Keys + first_row(patch) + key); }
    __device__ std::int32_t of_tile() const { return at(0, 0); }
  };
  using page_ids = std::conditional_t<platform::has_few_registers, late_page_ids, early_page_ids>;

  __device__ static page_ids look_up(const clamped_pages& pages, std::int32_t tile) {
    if constexpr (platform::has_few_registers) {
      return {pages, tile};
    } else {
      page_ids ids;
      ASSAY_UNROLL
      for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
      for (int j = 0; j < patch_keys; ++j) ids.id[p][j] = pages.look_up(tile * Keys + first_row(p) + j);
      return ids;
    }
  }

  /// Issues the loads. Keys behind the sequence's end come from wherever the clamp leads, which is a page in use.
  /// Where registers are few, the tile stays where it is until it is stored.
  __device__ void load(const byte_pool& k, const byte_pool& v, std::int32_t page_size, std::int32_t tile,
                       const page_ids& pages) {
    if constexpr (platform::has_few_registers) {
      late_ = {k, v, page_size, tile, pages};
    } else {
      load_part(k_, k, page_size, tile, pages);
      load_part(v_, v, page_size, tile, pages);
    }
  }

  /// K to rows of keys; columns up to `stride` - 8 are written, zeros behind the tensor's: Q is zero there, and 0 * NaN
  /// would not be.
  __device__ void store_k(std::uint8_t* tile, int stride) {
    if constexpr (platform::has_few_registers) load_part(k_, late_.k, late_.page_size, late_.tile, late_.pages);
    if (column() >= stride - vector_elements) return;
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
    for (int j = 0; j < patch_keys; ++j) store8(tile + (first_row(p) + j) * stride + column(), k_[p][j]);
  }

  /// V to rows of columns. Keys from `live_keys` of the tile on are dead, and become zeros: P is zero there.
  __device__ void store_v(std::uint8_t* tile, int stride, int columns, std::int32_t live_keys) {
    if constexpr (platform::has_few_registers) load_part(v_, late_.v, late_.page_size, late_.tile, late_.pages);
    if (column() >= columns) return;
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) {
      packed<1> live[patch_keys];
      ASSAY_UNROLL
      for (int j = 0; j < patch_keys; ++j) live[j] = first_row(p) + j < live_keys ? v_[p][j] : packed<1>{};
      store_patch(tile + column() * stride + first_row(p), stride,
                  {live[0].bits.x, live[1].bits.x, live[2].bits.x, live[3].bits.x});
      store_patch(tile + (column() + 4) * stride + first_row(p), stride,
                  {live[0].bits.y, live[1].bits.y, live[2].bits.y, live[3].bits.y});
    }
  }

 private:
  using part = packed<1>[max_patches][patch_keys];

  /// This thread's patches of K or V.
  __device__ static void load_part(part& to, const byte_pool& from, std::int32_t page_size, std::int32_t tile,
                                   const page_ids& pages) {
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
    for (int j = 0; j < patch_keys; ++j) {
      const std::int32_t slot = (tile * Keys + first_row(p) + j) % page_size;
      to[p][j] = column() < from.columns ? load8(from.row(pages.at(p, j), slot) + column()) : packed<1>{};
    }
  }

  __device__ static void store_patch(std::uint8_t* to, int stride, const unsigned int (&rows)[4]) {
    unsigned int columns[4];
    transpose_bytes(rows, columns);
    ASSAY_UNROLL
    for (int i = 0; i < 4; ++i) *reinterpret_cast<unsigned int*>(to + i * stride) = columns[i];
  }

  /// What a late load needs.
  struct late_load {
    byte_pool k, v;
    std::int32_t page_size, tile;
    page_ids pages;
  };
  struct nothing {};

  part k_, v_;
  std::conditional_t<platform::has_few_registers, late_load, nothing> late_;
};

}  // namespace assay::device
