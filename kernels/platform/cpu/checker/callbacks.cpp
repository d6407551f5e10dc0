/// The callbacks of instrumented kernel code, called before each load and store (flags: kernels.cmake):
/// - accesses of 1 to 16 bytes: clang's -fsanitize-coverage=trace-loads,trace-stores;
/// - memcpy, memmove and memset: the calls of clang's ThreadSanitizer pass, of which nothing else is used;
/// - misaligned pointers: UBSan's check, since only it knows the types of the source. The accesses do not show them: a
///   vector may be loaded piece by piece, and a memcpy needs no alignment.
#include <cstring>

#include "kernels/platform/cpu/checker/check_access.hpp"

using namespace assay::cpu;

namespace {

/// The running thread, or null if its accesses are not checked or this one is to its own stack.
[[gnu::always_inline]] inline checked_thread* checked_access(std::uintptr_t address) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || address - self->stack_low < self->stack_bytes || self->checker == nullptr) return nullptr;
  return self;
}

// Not inlined: most accesses are to the thread's own stack and do not get here.
template <access_kind Kind, int Size>
[[gnu::noinline]] void check_sized(checked_thread* self, std::uintptr_t address, const void* return_address) {
  self->checker->check<Kind>(*self, address, Size, reinterpret_cast<std::uintptr_t>(return_address));
}

template <access_kind Kind, int Size>
[[gnu::always_inline]] inline void on_access(const void* accessed, const void* frame, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  // Most accesses are to locals near the top of the stack. Return before reading the thread-local variable.
  if (address - reinterpret_cast<std::uintptr_t>(frame) < stack_slab::guard_bytes) return;
  checked_thread* const self = checked_access(address);
  if (self != nullptr) check_sized<Kind, Size>(self, address, return_address);
}

[[maybe_unused]] void on_range(access_kind kind, const void* accessed, std::size_t size, const void* return_address) {
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

[[gnu::noinline]] atomic_note::atomic_note(const void* accessed, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = checked_access(address);
  if (self == nullptr) return;
  self->checker->check<access_kind::atomic>(*self, address, size,
                                            reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  checker_ = self->checker;
  const own_accesses own(*self);
  checker_->begin_atomic(*self, address);
}

atomic_note::~atomic_note() {
  if (checker_ != nullptr) checker_->end_atomic();
}

}  // namespace assay::cpu

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): clang's names
#define ASSAY_CALLBACKS(size)                                                                              \
  void __sanitizer_cov_load##size(const void* address) {                                                   \
    on_access<access_kind::load, size>(address, __builtin_frame_address(0), __builtin_return_address(0));  \
  }                                                                                                        \
  void __sanitizer_cov_store##size(const void* address) {                                                  \
    on_access<access_kind::store, size>(address, __builtin_frame_address(0), __builtin_return_address(0)); \
  }

extern "C" {
ASSAY_CALLBACKS(1)
ASSAY_CALLBACKS(2)
ASSAY_CALLBACKS(4)
ASSAY_CALLBACKS(8)
ASSAY_CALLBACKS(16)

#if !ASSAY_ASAN && !ASSAY_TSAN  // there UBSan's own runtime ends the program
struct ubsan_type_mismatch {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];
  }* type;
  unsigned char log_alignment;
  unsigned char use;
};
void __ubsan_handle_type_mismatch_v1(const ubsan_type_mismatch* what, std::uintptr_t address) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || self->checker == nullptr) return;
  self->checker->report_misaligned(*self, address, std::uint64_t{1} << what->log_alignment, what->type->name,
                                   what->file, static_cast<int>(what->line));
}
#endif

#if !ASSAY_TSAN  // there they are the sanitizer's
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
#endif
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
