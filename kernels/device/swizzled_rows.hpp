/// Rows in LDS without padding: chunk c of 16 bytes lies at place c ^ (row mod 8) of its row, which changes its place
/// among eight neighbours. So the chunks of one column lie in different banks for eight rows that follow each other.
#pragma once

#include <hip/hip_runtime.h>

namespace assay::device {

inline constexpr int chunk_bytes = 16;
inline constexpr int swizzled_chunks = 8;
/// Rows are multiples of this long.
inline constexpr int swizzled_run_bytes = chunk_bytes * swizzled_chunks;

constexpr int swizzled_row_bytes(int bytes) {
  return (bytes + swizzled_run_bytes - 1) / swizzled_run_bytes * swizzled_run_bytes;
}

/// Rows of `row_bytes` from `base` on, which is a multiple of 16 bytes.
struct swizzled_rows {
  unsigned char* base;
  int row_bytes;

  __device__ int chunk_offset(int row, int number) const {
    return row * row_bytes + ((number ^ (row % swizzled_chunks)) * chunk_bytes);
  }
  __device__ unsigned char* chunk(int row, int number) const { return base + chunk_offset(row, number); }
  /// Of byte `byte` of the row; what follows it in its chunk follows it in LDS.
  __device__ unsigned char* at(int row, int byte) const { return chunk(row, byte / chunk_bytes) + byte % chunk_bytes; }
};

}  // namespace assay::device
