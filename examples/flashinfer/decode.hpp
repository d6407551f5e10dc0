/// A call of FlashInfer's batch decoding by its own launcher.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <vector>

#include "kernels/host/bind.hpp"

/// Memory of hipMalloc: the checker reports what a kernel reads or writes past its end, and names the line `where`.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t size, std::source_location where = std::source_location::current()) {
    if (hipMalloc(&data_, size * sizeof(T), where) != hipSuccess) throw std::runtime_error("hipMalloc failed");
  }
  explicit device_array(const std::vector<T>& given, std::source_location where = std::source_location::current())
      : device_array(given.size(), where) {
    std::copy(given.begin(), given.end(), data_);
  }
  ~device_array() { (void)hipFree(data_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* get() { return data_; }

 private:
  T* data_ = nullptr;
};

/// What FlashInfer's planner makes: the parts of requests, one for each block of a kv head.
struct decode_plan {
  bool is_partitioned;
  std::int32_t blocks;
  device_array<std::int32_t> last_page_len, request_indices, kv_tile_indices, o_indptr, kv_chunk_size;
};

template <class T, bool HasSoftCap>
void decode(const assay::problem& p, const assay::attention_tensors& t, decode_plan& plan);
