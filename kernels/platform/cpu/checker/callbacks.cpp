/// The callbacks of instrumented kernel code, called before each load and store (flags: kernels.cmake):
/// - accesses of any width: clang's AddressSanitizer pass, as if it reported them, for all but most of those to the
///   thread's own stack (base/own_stack.hpp); where that sanitizer is at work itself,
///   -fsanitize-coverage=trace-loads,trace-stores, which knows accesses of at most 16 bytes;
/// - memcpy, memmove and memset: clang's ThreadSanitizer pass, as atomics and fences (atomic_callbacks.cpp);
/// - misaligned pointers and indices past an array: UBSan's checks, since only it knows the types of the source. The
///   accesses do not show them: a vector may be loaded piece by piece, and a memcpy needs no alignment.
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/platform/cpu/checker/check_access.hpp"

using namespace assay::cpu;

namespace {

/// The running thread, or null if its accesses are not checked or this one is to its own stack.
[[gnu::always_inline]] inline checked_thread* checked_access(std::uintptr_t address) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || address - self->stack_low < self->stack_bytes || self->checker == nullptr) return nullptr;
  return self;
}

// Not inlined: in builds with AddressSanitizer most accesses are to the thread's own stack and do not get here.
template <access_kind Kind, int Size>
[[gnu::noinline]] void check_sized(checked_thread* self, std::uintptr_t address, const void* return_address) {
  self->checker->check<Kind>(*self, address, Size, reinterpret_cast<std::uintptr_t>(return_address));
}

template <access_kind Kind, int Size>
[[gnu::always_inline]] inline void on_access(const void* accessed, const void* frame, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  // Locals near the top of the stack. Where a switch is inlined into a kernel, its code still runs on the old thread's
  // stack when the new one counts as running.
  if (address - reinterpret_cast<std::uintptr_t>(frame) < stack_slab::guard_bytes) return;
  checked_thread* const self = checked_access(address);
  if (self != nullptr) check_sized<Kind, Size>(self, address, return_address);
}

void on_range(access_kind kind, const void* accessed, std::size_t size, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = size == 0 ? nullptr : checked_access(address);
  if (self == nullptr) return;
  if (size == 16)  // asynchronous copies, nearly all
    return kind == access_kind::load ? check_sized<access_kind::load, 16>(self, address, return_address)
                                     : check_sized<access_kind::store, 16>(self, address, return_address);
  const auto pc = reinterpret_cast<std::uintptr_t>(return_address);
  if (kind == access_kind::load)
    self->checker->check<access_kind::load>(*self, address, size, pc);
  else
    self->checker->check<access_kind::store>(*self, address, size, pc);
}

/// The pass looks at the first and the last byte of accesses that are not of 1, 2, 4, 8 or 16 aligned bytes, and calls
/// twice: with the access, and then with its last byte as if all began there.
[[maybe_unused]] void on_unusual(access_kind kind, const void* accessed, std::size_t size, const void* return_address) {
  checked_thread* const self = checked_access(reinterpret_cast<std::uintptr_t>(accessed));
  if (self != nullptr && !self->checker->is_second_call(reinterpret_cast<std::uintptr_t>(accessed), size))
    on_range(kind, accessed, size, return_address);
}

/// Calls tell(checker, self) for the running thread, if it is checked.
template <class F>
void tell_checker(F tell) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || self->checker == nullptr) return;
  access_checker& checker = *self->checker;
  const own_accesses own(*self);
  tell(checker, *self);
}

}  // namespace

namespace assay::cpu {

[[gnu::noinline]] atomic_note::atomic_note(const void* accessed, std::size_t size, atomic_operation operation,
                                           std::uintptr_t pc) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  checked_thread* const self = checked_access(address);
  if (self == nullptr) return;
  if (pc == 0) pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (!operation.stores) {
    self->checker->check<access_kind::atomic_load>(*self, address, size, pc);
    self->checker->expect_left_over_load(address);
  } else if (!operation.loads)
    self->checker->check<access_kind::atomic_store>(*self, address, size, pc);
  else
    self->checker->check<access_kind::atomic>(*self, address, size, pc);
  checker_ = self->checker;
  const own_accesses own(*self);
  checker_->begin_atomic(*self, address, operation);
}

atomic_note::~atomic_note() {
  if (checker_ != nullptr) checker_->end_atomic();
}

void note_load(const void* accessed, std::size_t size, std::uintptr_t pc) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a program counter
  on_range(access_kind::load, accessed, size, reinterpret_cast<const void*>(pc));
}
void note_store(const void* accessed, std::size_t size, std::uintptr_t pc) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a program counter
  on_range(access_kind::store, accessed, size, reinterpret_cast<const void*>(pc));
}
void demand_published(const void* accessed, std::size_t size, std::uintptr_t pc) {
  tell_checker([&](access_checker& checker, checked_thread& self) {
    checker.demand_published(self, reinterpret_cast<std::uintptr_t>(accessed), size, pc);
  });
}
void publish_lds() {
  tell_checker([](access_checker& checker, checked_thread& self) { checker.publish(self); });
}
void await_kernel_before() {
  tell_checker([](access_checker& checker, checked_thread& self) { checker.await_kernel_before(self); });
}
void demand_multiple(const void* accessed, std::size_t size, std::uintptr_t pc) {
  const auto address = reinterpret_cast<std::uintptr_t>(accessed);
  if (address % size == 0) return;
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || self->checker == nullptr)
    throw std::invalid_argument("an access of " + std::to_string(size) +
                                " bytes at an address that is no multiple of it");
  self->checker->report_misaligned(*self, address, size, pc);
}

void fence(fence_scope scope) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  tell_checker([&](access_checker& checker, checked_thread& self) { checker.pass_fence(self, scope); });
}

}  // namespace assay::cpu

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): clang's names
#define ASSAY_CALLBACKS(on_load, on_store, size)                                                           \
  void on_load(const void* address) {                                                                      \
    on_access<access_kind::load, size>(address, __builtin_frame_address(0), __builtin_return_address(0));  \
  }                                                                                                        \
  void on_store(const void* address) {                                                                     \
    on_access<access_kind::store, size>(address, __builtin_frame_address(0), __builtin_return_address(0)); \
  }

extern "C" {
#if ASSAY_ASAN
ASSAY_CALLBACKS(__sanitizer_cov_load1, __sanitizer_cov_store1, 1)
ASSAY_CALLBACKS(__sanitizer_cov_load2, __sanitizer_cov_store2, 2)
ASSAY_CALLBACKS(__sanitizer_cov_load4, __sanitizer_cov_store4, 4)
ASSAY_CALLBACKS(__sanitizer_cov_load8, __sanitizer_cov_store8, 8)
ASSAY_CALLBACKS(__sanitizer_cov_load16, __sanitizer_cov_store16, 16)
#else
ASSAY_CALLBACKS(__asan_report_load1_noabort, __asan_report_store1_noabort, 1)
ASSAY_CALLBACKS(__asan_report_load2_noabort, __asan_report_store2_noabort, 2)
ASSAY_CALLBACKS(__asan_report_load4_noabort, __asan_report_store4_noabort, 4)
ASSAY_CALLBACKS(__asan_report_load8_noabort, __asan_report_store8_noabort, 8)
ASSAY_CALLBACKS(__asan_report_load16_noabort, __asan_report_store16_noabort, 16)
void __asan_report_load_n_noabort(const void* address, std::size_t size) {
  on_unusual(access_kind::load, address, size, __builtin_return_address(0));
}
void __asan_report_store_n_noabort(const void* address, std::size_t size) {
  on_unusual(access_kind::store, address, size, __builtin_return_address(0));
}
/// Before calls that do not return.
void __asan_handle_no_return() {}
/// Of the object that clang makes of a precompiled header where it links one, without the flags.
void __asan_init() {}
void __asan_version_mismatch_check_v8() {}
#endif

#if !ASSAY_ASAN && !ASSAY_TSAN  // there UBSan's own runtime ends the program
struct ubsan_place {
  const char* file;
  std::uint32_t line, column;
};
struct ubsan_type {
  std::uint16_t kind, info;  ///< of an integer, info is twice the logarithm of its bits, and 1 if it is signed
  char name[1];
};
struct ubsan_out_of_bounds {
  ubsan_place place;
  const ubsan_type* array;
  const ubsan_type* index;
};
/// Indices of up to 64 bits are passed as they are, not by address.
void __ubsan_handle_out_of_bounds(const ubsan_out_of_bounds* what, std::uintptr_t index) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || self->checker == nullptr) return;
  access_checker& checker = *self->checker;
  const own_accesses own(*self);  // strings may be of instrumented code
  const int unused_bits = 64 - (1 << (what->index->info >> 1));
  const bool is_signed = (what->index->info & 1U) != 0 && unused_bits >= 0;
  const auto value =
      is_signed ? static_cast<std::int64_t>(index << unused_bits) >> unused_bits : static_cast<std::int64_t>(index);
  const char* const slash = std::strrchr(what->place.file, '/');
  checker.report_index(
      *self, value, what->array->name,
      std::string(slash != nullptr ? slash + 1 : what->place.file) + ":" + std::to_string(what->place.line));
}
struct ubsan_type_mismatch {
  ubsan_place place;
  const ubsan_type* type;
  unsigned char log_alignment;
  unsigned char use;
};
void __ubsan_handle_type_mismatch_v1(const ubsan_type_mismatch* what, std::uintptr_t address) {
  auto* const self = static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  if (self == nullptr || self->checker == nullptr) return;
  self->checker->report_misaligned(*self, address, std::uint64_t{1} << what->log_alignment, what->type->name,
                                   what->place.file, static_cast<int>(what->place.line));
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
