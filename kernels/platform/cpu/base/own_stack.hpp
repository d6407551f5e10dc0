/// The running thread's own stack, most of what kernels access, which they know without a call. Clang's pass for
/// AddressSanitizer has them look into a table before each access: a byte for each slot of 2^slot_shift bytes of the
/// address space. Where it is not 0, they call back (checker/callbacks.cpp). It is 0 for the slots of the running
/// threads' stacks only: one for each block that runs at the time, so that a block may reach a running thread of
/// another one unseen. A pointer to a local would have to get there through global memory, where GPUs cannot use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/platform/cpu/base/sanitizers.hpp"

namespace assay::cpu {

inline constexpr int slot_shift = 18;  ///< -asan-mapping-scale of kernels.cmake
inline constexpr std::size_t slot_bytes = std::size_t{1} << slot_shift;
#if defined(__x86_64__)
inline constexpr int address_bits = 47;  ///< of a process; no pointer of 64 bits past them is valid
#else
inline constexpr int address_bits = 48;
#endif
inline constexpr std::size_t table_bytes = std::size_t{1} << (address_bits - slot_shift);

/// Must come before flags of stacks in that range of addresses are entered or left. Throws std::bad_alloc.
void prepare_own_stack_flags(std::uintptr_t low, std::size_t bytes);

/// A byte of the table: that of a stack. A module without checked kernels has no table; it then does nothing.
class own_stack_flag {
 public:
  own_stack_flag() = default;
  explicit own_stack_flag(std::uintptr_t stack_low);
  // Relaxed stores, which cost no more: kernels of other OS threads may look, and those without a table share a flag.
  void enter() const { __atomic_store_n(flag_, own, __ATOMIC_RELAXED); }
  void leave() const { __atomic_store_n(flag_, foreign, __ATOMIC_RELAXED); }

  /// Whether the address lies past the end of the table. A kernel looks there for a pointer of too many bits.
  static bool is_past_table(std::uintptr_t address);

  static constexpr std::uint8_t own = 0;
  /// The least signed byte. The pass compares it with the low byte of the access's last address, as if a slot were
  /// valid up to some byte; none is less, so it calls back for all.
  static constexpr std::uint8_t foreign = 0x80;

 private:
  std::uint8_t* flag_ = &no_flag_;
  static std::uint8_t no_flag_;
};

}  // namespace assay::cpu
