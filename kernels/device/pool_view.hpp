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

  __device__ std::int32_t page_of(std::int32_t key) const { return entries[by_page_size.quotient(key)]; }
  __device__ std::int32_t slot_of(std::int32_t key) const { return key - by_page_size.quotient(key) * page_size; }
};

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

/// One kv head of a pool [page][slot][head][element] in any stride order; strides count elements.
template <class T>
struct pool_view {
  const T* data;
  std::int64_t page_stride;
  std::int64_t slot_stride;

  /// Address of a key's row. 64 bits: a pool may be larger than 4 GiB.
  __device__ const T* row(std::int32_t page, std::int32_t slot) const {
    return data + page * page_stride + slot * slot_stride;
  }
};

/// Keys [first, last) that some row of the block sees; everything outside is dead and is never read.
struct key_range {
  std::int32_t first;
  std::int32_t last;
  __device__ bool holds(std::int32_t key) const { return first <= key && key < last; }
};

}  // namespace assay::device
