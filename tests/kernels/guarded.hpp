/// An array whose end is the end of readable memory: a read behind it is a segmentation fault.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace assay {

template <class T>
class guarded {
 public:
  guarded() = default;
  explicit guarded(std::span<const T> values) : count_(values.size()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (values.size_bytes() + page - 1) / page * page;
    mapped_bytes_ = used + page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(base_ + used, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(base_ + used - values.size_bytes());
    std::copy(values.begin(), values.end(), data_);
  }
  guarded(guarded&& from) noexcept { swap(from); }
  guarded& operator=(guarded&& from) noexcept {
    swap(from);
    return *this;
  }
  ~guarded() {
    if (base_ != nullptr) munmap(base_, mapped_bytes_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  void swap(guarded& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  std::byte* base_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace assay
