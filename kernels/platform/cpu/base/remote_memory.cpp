#include "kernels/platform/cpu/base/remote_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace assay::cpu {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}
std::size_t reserved_bytes(std::size_t size_bytes) {
  return whole_pages(size_bytes) + 2 * remote_memory::guard_bytes;
}

}  // namespace

remote_memory::remote_memory(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  const std::size_t reserved = reserved_bytes(size_bytes);
  void* const range = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  std::byte* const start = static_cast<std::byte*>(range) + guard_bytes;
  if (mprotect(start, whole_pages(size_bytes), PROT_READ | PROT_WRITE) != 0) {
    munmap(range, reserved);
    throw std::bad_alloc();
  }
  start_ = start;
}

remote_memory::remote_memory(remote_memory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

remote_memory& remote_memory::operator=(remote_memory&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

remote_memory::~remote_memory() {
  if (start_ != nullptr) munmap(start_ - guard_bytes, reserved_bytes(size_bytes_));
}

}  // namespace assay::cpu
