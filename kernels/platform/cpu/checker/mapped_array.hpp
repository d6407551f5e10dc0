/// Arrays of zeros of which only touched pages cost memory.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace assay::cpu {

/// Zeroed memory of which only touched pages cost something, terabytes away from what mmap() chooses by itself, and so
/// from every tensor. These arrays take gigabytes of addresses, all readable: beside the tensors, a wild load would
/// find zeros there, and where loads are not checked nothing would be seen of it. Where all these places are taken, or
/// a sanitizer keeps them for itself, mmap() chooses. MAP_FAILED if it cannot.
inline void* map_far_from_tensors(std::size_t size_bytes) {
  constexpr std::uintptr_t first = 0x3000'0000'0000, span = 0x2000'0000'0000, grain = std::uintptr_t{1} << 33;
  constexpr int tries = 16;
  static std::atomic<std::uintptr_t> next{0};
  const auto map_at = [&](std::uintptr_t place) {
    return mmap(std::bit_cast<void*>(place), size_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  // Each library has its own counter: they begin apart.
  const std::uintptr_t own = (reinterpret_cast<std::uintptr_t>(&next) >> 12U) * grain;
  const std::uintptr_t room = (size_bytes + grain - 1) / grain * grain;
  for (int i = 0; i < tries; ++i) {
    const std::uintptr_t place = first + (own + next.fetch_add(room, std::memory_order_relaxed)) % span;
    void* const range = map_at(place);
    if (range == std::bit_cast<void*>(place) || range == MAP_FAILED) return range;
    munmap(range, size_bytes);
  }
  return map_at(0);
}

/// `count` zeroed elements, not constructed: T is trivial. Throws std::bad_alloc.
template <class T>
class mapped_array {
 public:
  mapped_array() = default;
  explicit mapped_array(std::size_t count) : count_(count) {
    if (count == 0) return;
    void* const range = map_far_from_tensors(size_bytes());
    if (range == MAP_FAILED) throw std::bad_alloc();
    elements_ = static_cast<T*>(range);
  }
  mapped_array(mapped_array&& other) noexcept
      : elements_(std::exchange(other.elements_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  mapped_array& operator=(mapped_array&& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~mapped_array() {
    if (elements_ != nullptr) munmap(elements_, size_bytes());
  }

  T* data() const { return elements_; }
  T& operator[](std::size_t i) const { return elements_[i]; }
  std::size_t count() const { return count_; }
  /// All zeros again; gives the memory back.
  void clear() {
    if (elements_ != nullptr) madvise(elements_, size_bytes(), MADV_DONTNEED);
  }

 private:
  std::size_t size_bytes() const { return count_ * sizeof(T); }

  T* elements_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace assay::cpu
