/// Memory between inaccessible OS pages: an access outside it faults. Dense or sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay {

/// Half-open, of bytes or of pages.
struct index_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const index_range&) const = default;
};

/// Bytes of an OS page: the grain of protection.
std::int64_t os_page_bytes();

/// A reservation of address space with a body of whole OS pages: all of it readable and writable, or some ranges only.
/// Before and after the body the addresses are reserved too and never accessible.
class guarded_memory {
 public:
  /// Inaccessible bytes on both sides of a sparse body. An offset that was computed in 32 bits, in elements of at most
  /// 4 bytes, is wrong by at most 2^32 * 4 bytes: it lands inside the reservation, whatever else is mapped.
  static constexpr std::int64_t sparse_margin_bytes = std::int64_t{1} << 34;

  guarded_memory() = default;
  /// At least `bytes`, in the fewest OS pages. The content is arbitrary. Throws std::bad_alloc.
  explicit guarded_memory(std::int64_t bytes);
  /// At least `bytes`, of which the OS pages that meet `used` are accessible and zero; only those that are touched cost
  /// memory. `used` ascends and lies in [0, bytes). Throws std::bad_alloc: a process has only so many separate ranges
  /// (vm.max_map_count).
  guarded_memory(std::int64_t bytes, const std::vector<index_range>& used);
  ~guarded_memory();
  guarded_memory(guarded_memory&& other) noexcept;
  guarded_memory& operator=(guarded_memory&& other) noexcept;

  std::byte* body() const { return reserved_ + margin_; }
  std::int64_t body_bytes() const { return body_bytes_; }
  /// The whole reservation, relative to the body.
  index_range reserved() const { return {-margin_, body_bytes_ + margin_}; }
  /// Accessible ranges of the body in ascending order, not adjacent.
  const std::vector<index_range>& accessible() const { return accessible_; }
  /// While read-only, a write faults.
  void set_read_only(bool read_only) const;

 private:
  void release();

  std::byte* reserved_ = nullptr;
  std::int64_t margin_ = 0;
  std::int64_t body_bytes_ = 0;
  std::vector<index_range> accessible_;
  bool is_dense_ = false;
};

}  // namespace assay
