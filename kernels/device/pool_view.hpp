/// Paged addresses of one sequence's keys and values.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/divisor.hpp"
#include "kernels/device/vector.hpp"

namespace assay::device {

/// Page ids of one sequence. Only entries of live keys may be read: what follows them may be anything.
struct sequence_pages {
  const std::int32_t* entries;
  std::int32_t page_size;
  divisor by_page_size;

  __device__ const std::int32_t* entry_of(std::int32_t key) const { return entries + by_page_size.quotient(key); }
  __device__ std::int32_t page_of(std::int32_t key) const { return *entry_of(key); }
  __device__ std::int32_t slot_of(std::int32_t key) const { return key - by_page_size.quotient(key) * page_size; }
};

/// number * stride, of a number that is not negative: two multiplications, where one of 64 bits takes four.
__device__ __forceinline__ std::int64_t times_stride(std::int32_t number, std::int64_t stride) {
  const auto n = static_cast<std::uint32_t>(number);
  const auto low = static_cast<std::uint32_t>(stride), high = static_cast<std::uint32_t>(stride >> 32);
  return static_cast<std::int64_t>(std::uint64_t{n} * low + (std::uint64_t{n * high} << 32));
}

/// One kv head of a pool [page][slot][head][element] in any stride order; strides count elements.
template <class T>
struct pool_view {
  const T* data;
  std::int64_t page_stride;
  std::int64_t slot_stride;

  /// Elements before a key's row. 64 bits: a pool may be larger than 4 GiB.
  __device__ std::int64_t row_offset(std::int32_t page, std::int32_t slot) const {
    return times_stride(page, page_stride) + times_stride(slot, slot_stride);
  }
  __device__ const T* row(std::int32_t page, std::int32_t slot) const { return data + row_offset(page, slot); }
  /// Where byte `byte` of a row, a multiple of 16, lies behind the row's address.
  __device__ static int place_of(int byte) { return byte; }
};

/// The same of elements of one byte in tiles of 16 keys, whose rows may be cut into chunks of 16 bytes that lie apart.
template <class T>
struct tiled_pool_view {
  const T* data;
  std::int64_t page_stride;
  std::int64_t tile_stride;
  std::int64_t slot_stride;  ///< within a tile
  int chunk_stride;

  __device__ std::int64_t row_offset(std::int32_t page, std::int32_t slot) const {
    return times_stride(page, page_stride) + times_stride(slot >> 4, tile_stride) +
           times_stride(slot & 15, slot_stride);
  }
  __device__ const T* row(std::int32_t page, std::int32_t slot) const { return data + row_offset(page, slot); }
  __device__ int place_of(int byte) const { return byte / 16 * chunk_stride; }
};

/// Keys [first, last) that some row of the block sees; everything outside is dead and is never read.
struct key_range {
  std::int32_t first;
  std::int32_t last;
  __device__ bool holds(std::int32_t key) const { return first <= key && key < last; }
};

}  // namespace assay::device
