/// Dynamic LDS of the block that an OS thread is running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/platform/cpu/base/remote_memory.hpp"

namespace assay::cpu {

/// Memory of exactly the size that the launch asked for, between two canaries.
class local_memory {
 public:
  /// Ready for a block: 0xFF bytes (NaN in every float type), fresh canaries. 128-byte aligned.
  void prepare(std::size_t size_bytes);
  void* data() { return start_; }
  /// Offset from the start of the first canary byte that changed (negative or >= size), if any did.
  std::optional<std::int64_t> overrun() const;

  static constexpr std::size_t canary_bytes = 1024;

 private:
  static constexpr std::size_t alignment_bytes = 128;

  remote_memory memory_;
  std::byte* start_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace assay::cpu
