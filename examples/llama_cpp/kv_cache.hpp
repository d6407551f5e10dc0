/// Assay's paged problem as llama.cpp holds it: a cache whose cells are in the order of the keys, and a mask.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>

#include "kernels/host/bind.hpp"

/// Memory of hipMalloc: the checker reports what a kernel reads or writes past its end, and names the line `where`.
template <class T>
class device_array {
 public:
  explicit device_array(std::int64_t size, std::source_location where = std::source_location::current()) {
    if (hipMalloc(&data_, static_cast<std::size_t>(size) * sizeof(T), where) != hipSuccess)
      throw std::runtime_error("hipMalloc failed");
  }
  ~device_array() { (void)hipFree(data_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* get() { return data_; }
  T& operator[](std::int64_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
};

/// Sequences [first, first + count), one stream of the cache each. All have `rows` query rows, from `first_row` on.
struct stream_range {
  std::int64_t first = 0, count = 0;
  std::int64_t first_row = 0, rows = 0;
  std::int64_t most_keys = 0;
};

/// The tensors of one call of llama.cpp, dense, in the order of their extents.
struct kv_cache {
  static constexpr std::int64_t cell_step = 256;  ///< llama.cpp pads the cells in use to it

  /// Behind the mask. The scan of the mask takes two rows at a time, and with an odd number one behind the last. In
  /// llama.cpp other tensors of the graph lie there.
#ifdef LLAMA_CPP_EXACT_MASK
  static constexpr std::int64_t spare_rows = 0;
#else
  static constexpr std::int64_t spare_rows = 1;
#endif

  kv_cache(const assay::problem& p, const assay::attention_tensors& t, const stream_range& of);

  stream_range of;
  std::int64_t cells;
  device_array<float> q;             ///< [stream, row, head, dim]
  device_array<std::uint16_t> k, v;  ///< [stream, cell, kv head, dim], f16
  device_array<std::uint16_t>
      mask;                 ///< [stream, row, cell], f16: 0 or a bias, and -inf where a row does not see a cell
  device_array<float> dst;  ///< [stream, row, head, dim]
};

float of_f16(std::uint16_t bits);
std::uint16_t to_f16(float x);
