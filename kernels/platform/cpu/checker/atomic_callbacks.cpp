/// The callbacks of the compiler's own atomics and fences in kernels: clang's ThreadSanitizer pass puts them in place
/// of the operations. Each is a scheduling point before it takes effect, as HIP's are (hip/atomics.h), so that a loop
/// which polls lets others run. Outside of kernels they do what they replace.
#include "kernels/platform/cpu/base/thread.hpp"

#if !ASSAY_TSAN  // there they are the sanitizer's
namespace {

using namespace assay::cpu;

/// As the pass passes it: the order of C11.
enum order : int { relaxed, consume, acquire, release, acquire_release, sequential };

constexpr bool releases(int o) {
  return o >= release;
}

template <class T>
class running_atomic {
 public:
  running_atomic(const volatile T* address, atomic_operation operation, const void* pc)
      : note_((scheduling_point("atomic", std::source_location::current()), const_cast<const T*>(address)), sizeof(T),
              operation, reinterpret_cast<std::uintptr_t>(pc)) {}

 private:
  atomic_note note_;
};

void note_change(bool changed) {
  if (changed && this_thread != nullptr) note_progress();
}

template <class T, class F>
T update(volatile T* address, int order, const void* pc, F change) {
  const running_atomic<T> now(address, {true, true, releases(order)}, pc);
  T old = __atomic_load_n(address, __ATOMIC_RELAXED), desired;
  do desired = change(old);
  while (!__atomic_compare_exchange_n(address, &old, desired, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  note_change(desired != old);
  return old;
}

template <class T>
bool exchange_if(volatile T* address, T& expected, T value, int order, const void* pc) {
  const running_atomic<T> now(address, {true, true, releases(order)}, pc);
  const bool exchanged =
      __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  note_change(exchanged && expected != value);
  return exchanged;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming, bugprone-macro-parentheses): clang's names,
// and T is a type
#define ASSAY_UPDATE(T, bits, name, expression)                                                                    \
  T __tsan_atomic##bits##_##name(volatile T* address, T value, int order) {                                        \
    return update(address, order, __builtin_return_address(0), [=](T old) { return static_cast<T>(expression); }); \
  }
#define ASSAY_ATOMICS(T, bits)                                                                                   \
  T __tsan_atomic##bits##_load(const volatile T* address, int) {                                                 \
    const running_atomic<T> now(address, {true, false, false}, __builtin_return_address(0));                     \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                              \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int order) {                                    \
    const running_atomic<T> now(address, {false, true, releases(order)}, __builtin_return_address(0));           \
    note_change(__atomic_exchange_n(address, value, __ATOMIC_SEQ_CST) != value);                                 \
  }                                                                                                              \
  ASSAY_UPDATE(T, bits, exchange, (static_cast<void>(old), value))                                               \
  ASSAY_UPDATE(T, bits, fetch_add, old + value)                                                                  \
  ASSAY_UPDATE(T, bits, fetch_sub, old - value)                                                                  \
  ASSAY_UPDATE(T, bits, fetch_and, old& value)                                                                   \
  ASSAY_UPDATE(T, bits, fetch_or, old | value)                                                                   \
  ASSAY_UPDATE(T, bits, fetch_xor, old ^ value)                                                                  \
  ASSAY_UPDATE(T, bits, fetch_nand, ~(old & value))                                                              \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* address, T expected, T value, int order, int) {       \
    exchange_if(address, expected, value, order, __builtin_return_address(0));                                   \
    return expected;                                                                                             \
  }                                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T value, int order, int) { \
    return exchange_if(address, *expected, value, order, __builtin_return_address(0)) ? 1 : 0;                   \
  }                                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T value, int order, int) {   \
    return exchange_if(address, *expected, value, order, __builtin_return_address(0)) ? 1 : 0;                   \
  }

extern "C" {
ASSAY_ATOMICS(std::uint8_t, 8)
ASSAY_ATOMICS(std::uint16_t, 16)
ASSAY_ATOMICS(std::uint32_t, 32)
ASSAY_ATOMICS(std::uint64_t, 64)

void __tsan_atomic_thread_fence(int) {
  scheduling_point("fence", std::source_location::current());
  fence(fence_scope::device);
}
void __tsan_atomic_signal_fence(int) {}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming, bugprone-macro-parentheses)
#endif
