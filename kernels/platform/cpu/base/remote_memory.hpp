/// Memory that no overrun of other memory reaches.
#pragma once

#include <cstddef>

namespace assay::cpu {

/// Zeroed bytes between two ranges of addresses that belong to no memory. For what the checker lets kernels access,
/// such as the LDS and the executor's own fibers: on the heap, a kernel's store past the end of hipMalloc's memory
/// could land there and count as one of theirs.
class remote_memory {
 public:
  remote_memory() = default;
  /// Throws std::bad_alloc.
  explicit remote_memory(std::size_t size_bytes);
  remote_memory(remote_memory&& other) noexcept;
  remote_memory& operator=(remote_memory&& other) noexcept;
  ~remote_memory();

  /// The first byte, aligned to a page; nullptr without memory.
  std::byte* data() const { return start_; }
  std::size_t size_bytes() const { return size_bytes_; }

  /// On either side, at the least. Wider than the rows, pages and tiles by which kernels miss.
  static constexpr std::size_t guard_bytes = std::size_t{16} << 20;

 private:
  std::byte* start_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace assay::cpu
