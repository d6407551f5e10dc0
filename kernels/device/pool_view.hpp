/// Paged addresses of one sequence's keys and values, and their move through registers to LDS.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

/// Page ids of one sequence. Only entries of live keys may be read: what follows them may be anything.
struct sequence_pages {
  const std::int32_t* entries;
  std::int32_t page_size;
};

/// One kv head of a pool [page][slot][head][element] in any stride order; strides count elements.
template <class T>
struct pool_view {
  const T* data;
  std::int64_t page_stride;
  std::int64_t slot_stride;

  /// Address of a live key's row. 64 bits: a pool may be larger than 4 GiB.
  __device__ const T* row(const sequence_pages& pages, std::int32_t key) const {
    const std::int32_t page = key / pages.page_size, slot = key - page * pages.page_size;
    return data + pages.entries[page] * page_stride + slot * slot_stride;
  }
};

/// Keys [first, last) that some row of the block sees; everything outside is dead and is never read.
struct key_range {
  std::int32_t first;
  std::int32_t last;
  __device__ bool holds(std::int32_t key) const { return first <= key && key < last; }
};

/// This thread's share of a tile of `Keys` rows on its way from global memory to LDS: vectors thread, thread + Threads,
/// ... of the tile in row-major order. Rows of dead keys and columns beyond `columns` are zeros: the matrix unit
/// multiplies them by zeros, and 0 * NaN would not be one.
template <class T, int Keys, int Threads, int MaxColumns>
class staged_tile {
 public:
  /// `columns` and `padded_columns` are multiples of 8; loads are issued here and waited for in store(). Where
  /// registers are few, the tile stays where it is until then.
  __device__ void load(const pool_view<T>& pool, const sequence_pages& pages, key_range live, std::int32_t first_key,
                       int columns, int padded_columns) {
    if constexpr (platform::has_few_registers)
      late_ = {pool, pages, live, first_key, columns};
    else
      for_each_vector(padded_columns, [&](int i, int row, int vector) {
        vectors_[i] = load_vector({pool, pages, live, first_key, columns}, row, vector);
      });
  }

  /// Writes the tile to LDS, converted to the type that the matrix unit multiplies. `stride` counts elements.
  template <class To>
  __device__ void store(To* tile, int stride, int padded_columns) const {
    for_each_vector(padded_columns, [&](int i, int row, int vector) {
      To* const to = tile + row * stride + vector * vector_elements;
      if constexpr (platform::has_few_registers)
        store8(to, convert8<To, T>(load_vector(late_, row, vector)));
      else
        store8(to, convert8<To, T>(vectors_[i]));
    });
  }

 private:
  static constexpr int capacity = Keys * MaxColumns / (vector_elements * Threads);

  /// What load() is given.
  struct source {
    pool_view<T> pool;
    sequence_pages pages;
    key_range live;
    std::int32_t first_key;
    int columns;
  };
  struct nothing {};

  __device__ static packed<sizeof(T)> load_vector(const source& from, int row, int vector) {
    const std::int32_t key = from.first_key + row;
    const int column = vector * vector_elements;
    return from.live.holds(key) && column < from.columns ? load8(from.pool.row(from.pages, key) + column) : zero8<T>();
  }

  /// move(i, row, vector) for each vector of this thread.
  template <class Move>
  __device__ static void for_each_vector(int padded_columns, Move move) {
    const int per_row = padded_columns / vector_elements;
    int row = static_cast<int>(threadIdx.x) / per_row, vector = static_cast<int>(threadIdx.x) % per_row;
    const int row_step = Threads / per_row, vector_step = Threads % per_row;
    const auto step = [&](int i) {
      if (row < Keys) move(i, row, vector);
      row += row_step;
      vector += vector_step;
      if (vector >= per_row) {
        vector -= per_row;
        ++row;
      }
    };
    if constexpr (platform::has_few_registers) {
#pragma unroll 2  // unrolled, all rows and addresses would be kept from tile to tile
      for (int i = 0; i < capacity; ++i) step(i);
    } else {
      ASSAY_UNROLL
      for (int i = 0; i < capacity; ++i) step(i);
    }
  }

  packed<sizeof(T)> vectors_[capacity];
  std::conditional_t<platform::has_few_registers, source, nothing> late_;
};

}  // namespace assay::device
