/// Arrays of zeros of which only touched pages cost memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace assay::cpu {

/// `count` zeroed elements, not constructed: T is trivial. Throws std::bad_alloc.
template <class T>
class mapped_array {
 public:
  mapped_array() = default;
  explicit mapped_array(std::size_t count) : count_(count) {
    if (count == 0) return;
    void* range =
        mmap(nullptr, size_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
