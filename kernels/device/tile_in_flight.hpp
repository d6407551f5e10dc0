/// Moves FP8 tiles of 64 keys from a paged pool through registers to LDS. Page look-ups, loads and stores are separate
/// steps, so each can run ahead of the step that needs it.
///
/// A thread moves patches of 4 keys by 8 columns: V is transposed on its way, 4 by 4 bytes at a time, so that the
/// matrix unit reads it along the keys. 16 threads side by side share 4 keys.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/mma.hpp"
#include "kernels/device/vector.hpp"

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
  struct page_ids {
    std::int32_t id[max_patches][patch_keys];
    /// Of the whole tile, where tiles do not cross pages.
    __device__ std::int32_t of_tile() const { return id[0][0]; }
  };

  __device__ static page_ids look_up(const clamped_pages& pages, std::int32_t tile) {
    page_ids ids;
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
    for (int j = 0; j < patch_keys; ++j) ids.id[p][j] = pages.look_up(tile * Keys + first_row(p) + j);
    return ids;
  }

  /// Issues the loads. Keys behind the sequence's end come from wherever the clamp leads, which is a page in use.
  __device__ void load(const byte_pool& k, const byte_pool& v, std::int32_t page_size, std::int32_t tile,
                       const page_ids& pages) {
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
    for (int j = 0; j < patch_keys; ++j) {
      const std::int32_t slot = (tile * Keys + first_row(p) + j) % page_size;
      k_[p][j] = column() < k.columns ? load8(k.row(pages.id[p][j], slot) + column()) : packed<1>{};
      v_[p][j] = column() < v.columns ? load8(v.row(pages.id[p][j], slot) + column()) : packed<1>{};
    }
  }

  /// K to rows of keys; columns up to `stride` - 8 are written, zeros behind the tensor's: Q is zero there, and 0 * NaN
  /// would not be.
  __device__ void store_k(std::uint8_t* tile, int stride) const {
    if (column() >= stride - vector_elements) return;
    ASSAY_UNROLL
    for (int p = 0; p < patches(); ++p) ASSAY_UNROLL
    for (int j = 0; j < patch_keys; ++j) store8(tile + (first_row(p) + j) * stride + column(), k_[p][j]);
  }

  /// V to rows of columns. Keys from `live_keys` of the tile on are dead, and become zeros: P is zero there.
  __device__ void store_v(std::uint8_t* tile, int stride, int columns, std::int32_t live_keys) const {
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
  __device__ static void store_patch(std::uint8_t* to, int stride, const unsigned int (&rows)[4]) {
    unsigned int columns[4];
    transpose_bytes(rows, columns);
    ASSAY_UNROLL
    for (int i = 0; i < 4; ++i) *reinterpret_cast<unsigned int*>(to + i * stride) = columns[i];
  }

  packed<1> k_[max_patches][patch_keys], v_[max_patches][patch_keys];
};

}  // namespace assay::device
