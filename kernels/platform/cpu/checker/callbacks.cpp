/// What instrumented kernel code calls before each load and store: clang's -fsanitize-coverage=trace-loads,trace-stores
/// for those of 1 to 16 bytes; for memcpy, memmove and memset, which that leaves out, its ThreadSanitizer pass, of which
/// nothing else is used (CMakeLists.txt).
#include <cstring>

#include "kernels/platform/cpu/checker/check_access.hpp"

using namespace assay::cpu;

namespace {

/// The running thread if its accesses are to be checked and this one is not to its own stack.
[[gnu::always_inline]] inline checked_thread* checked_access(std::uintptr_t address) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || address - self->stack_low < self->stack_bytes || self->checker == nullptr) return nullptr;
  return self;
}

template <access_kind Kind, int Size>
[[gnu::always_inline]] inline void on_access(const void* accessed, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = checked_access(address);
  if (self == nullptr) return;
  const auto pc = reinterpret_cast<std::uintptr_t>(return_address);
  if (Size > 1 && address % Size != 0) [[unlikely]]
    self->checker->note_misaligned(*self, Kind, address, Size, pc);
  self->checker->check<Kind>(*self, address, Size, pc);
}

void on_range(access_kind kind, const void* accessed, std::size_t size, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = size == 0 ? nullptr : checked_access(address);
  if (self == nullptr) return;
  const auto pc = reinterpret_cast<std::uintptr_t>(return_address);
  if (kind == access_kind::load)
    self->checker->check<access_kind::load>(*self, address, size, pc);
  else
    self->checker->check<access_kind::store>(*self, address, size, pc);
}

}  // namespace

namespace assay::cpu {

[[gnu::noinline]] void note_atomic(const void* accessed, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = checked_access(address);
  if (self == nullptr) return;
  self->checker->check<access_kind::atomic>(*self, address, size,
                                            reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

}  // namespace assay::cpu

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): clang's names
#define ASSAY_CALLBACKS(size)                                                      \
  void __sanitizer_cov_load##size(const void* address) {                           \
    on_access<access_kind::load, size>(address, __builtin_return_address(0));      \
  }                                                                                \
  void __sanitizer_cov_store##size(const void* address) {                          \
    on_access<access_kind::store, size>(address, __builtin_return_address(0));     \
  }

extern "C" {
ASSAY_CALLBACKS(1)
ASSAY_CALLBACKS(2)
ASSAY_CALLBACKS(4)
ASSAY_CALLBACKS(8)
ASSAY_CALLBACKS(16)

void __tsan_init() {}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  on_range(access_kind::load, from, size, __builtin_return_address(0));
  on_range(access_kind::store, to, size, __builtin_return_address(0));
  return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  on_range(access_kind::load, from, size, __builtin_return_address(0));
  on_range(access_kind::store, to, size, __builtin_return_address(0));
  return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, std::size_t size) {
  on_range(access_kind::store, to, size, __builtin_return_address(0));
  return std::memset(to, value, size);
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
