/// Fibers: stacks, and the switch between them. Boost.Context's fcontext underneath, without its wrappers: a switch is
/// about 20 instructions. AddressSanitizer and ThreadSanitizer, where they are built in, hear of each switch.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/platform/cpu/base/sanitizers.hpp"

#if ASSAY_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if ASSAY_TSAN
#include <sanitizer/tsan_interface.h>

#include <vector>
#endif

namespace assay::cpu {

/// A place of execution. The OS thread's own stack is one too: a fiber that was never started.
struct fiber {
  boost::context::detail::fcontext_t context = nullptr;  ///< where it goes on; valid while it is not running
#if ASSAY_ASAN
  const void* stack_bottom = nullptr;
  std::size_t stack_size_bytes = 0;
  void* fake_stack = nullptr;
#endif
#if ASSAY_TSAN
  void* state = nullptr;  ///< ThreadSanitizer's
#endif
};

#if ASSAY_ASAN
// Calls, so that kernels, into which switches are inlined, do not touch what the executor keeps for them.
void announce_switch(fiber& from, const fiber& to);
void announce_arrival(fiber& left);
#endif

/// Bookkeeping after a switch: tells the previous fiber where to continue.
inline void note_arrival(boost::context::detail::transfer_t from) {
  fiber& left = *static_cast<fiber*>(from.data);
  left.context = from.fctx;
#if ASSAY_ASAN
  announce_arrival(left);
#endif
}

/// Leaves `from`, the running fiber, and goes on in `to`. Returns when something switches to `from`.
inline void switch_fiber(fiber& from, fiber& to) {
#if ASSAY_ASAN
  announce_switch(from, to);
#endif
#if ASSAY_TSAN
  // Here and in no function of its own: that would begin in one fiber and end in the other.
  from.state = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.state, 0);
#endif
  note_arrival(boost::context::detail::jump_fcontext(to.context, &from));
}

/// Whether, and to which fiber, the running fiber `from` has to switch: `to` is null if it keeps running.
struct hand_over {
  fiber* from = nullptr;
  fiber* to = nullptr;
};

/// Second half of everything at which a GPU thread may have to wait. Always inlined into the kernel, for the
/// processor's return predictor: fcontext leaves by a jump where the predictor expects a return, so each return on the
/// way from the arrival back into the kernel would be mispredicted. Five of them made a barrier cost 41 ns a thread,
/// one 28, none 14.
__attribute__((always_inline)) inline void follow(hand_over h) {
  if (h.to != nullptr) switch_fiber(*h.from, *h.to);
}

/// Stacks for the fibers of one OS thread: one reserved range of addresses in which pages become real when touched, a
/// guard below and above each stack. Reused for as long as the thread lives.
class stack_slab {
 public:
  /// Bytes next to a stack, on either side, of which no access returns.
  static constexpr std::size_t guard_bytes = 16384;

  explicit stack_slab(int max_stacks);
  ~stack_slab();
  stack_slab(const stack_slab&) = delete;
  stack_slab& operator=(const stack_slab&) = delete;

  /// Makes `f` a fiber on stack `index` that begins in `entry` when switched to. Whatever ran on that stack is
  /// forgotten, its destructors too. Throws std::bad_alloc.
  void start(fiber& f, int index, void (*entry)(boost::context::detail::transfer_t));
  /// Lowest address and size of stack `index`.
  std::uintptr_t low(int index) const;
  static std::size_t size_bytes();

 private:
  void* reserved_ = nullptr;
  char* base_ = nullptr;  ///< of the first slot: a guard, then the stack
  int max_stacks_;
  std::size_t reserved_bytes_;
  int usable_stacks_ = 0;  // stacks below this index are readable and writable
#if ASSAY_TSAN
  std::vector<void*> states_;  // of what runs on the stacks
#endif
};

/// Seconds that one switch from fiber to fiber takes on this machine: the best of several short measurements.
double measure_switch_seconds();

}  // namespace assay::cpu
