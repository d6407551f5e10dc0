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

/// What matrix units that read LDS themselves ask of the first row's address.
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
inline constexpr int swizzle_alignment = swizzled_chunks * swizzled_run_bytes;
#else
inline constexpr int swizzle_alignment = chunk_bytes;
#endif
/// Of dynamic LDS that holds such rows.
struct alignas(swizzle_alignment) swizzled_lds {
  unsigned char bytes[swizzle_alignment];
};

/// The place of a row's chunk among its neighbours. Unsigned, so that the compiler knows it for all rows eight apart.
__device__ __forceinline__ int swizzled_place(int row, int number) {
  return number ^ static_cast<int>(static_cast<unsigned int>(row) % swizzled_chunks);
}

/// Rows of `row_bytes` from `base` on, which is a multiple of 16 bytes.
struct swizzled_rows {
  unsigned char* base;
  int row_bytes;

  __device__ int chunk_offset(int row, int number) const {
    return row * row_bytes + swizzled_place(row, number) * chunk_bytes;
  }
  __device__ unsigned char* chunk(int row, int number) const { return base + chunk_offset(row, number); }
  /// Of byte `byte` of the row; what follows it in its chunk follows it in LDS.
  __device__ unsigned char* at(int row, int byte) const { return chunk(row, byte / chunk_bytes) + byte % chunk_bytes; }
  /// From row `first` on, a multiple of eight.
  __device__ swizzled_rows from(int first) const { return {base + first * row_bytes, row_bytes}; }
};

/// Rows cut into runs of 128 bytes, each in a strip with those of the other rows, as matrix units read LDS themselves.
/// `base` is a multiple of swizzle_alignment.
struct swizzled_strips {
  unsigned char* base;
  int strip_bytes;

  __device__ int chunk_offset(int row, int number) const {
    return number / swizzled_chunks * strip_bytes + row * swizzled_run_bytes +
           swizzled_place(row, number % swizzled_chunks) * chunk_bytes;
  }
  __device__ unsigned char* chunk(int row, int number) const { return base + chunk_offset(row, number); }
  __device__ unsigned char* at(int row, int byte) const { return chunk(row, byte / chunk_bytes) + byte % chunk_bytes; }
  __device__ swizzled_strips from(int first) const { return {base + first * swizzled_run_bytes, strip_bytes}; }
};

}  // namespace assay::device
