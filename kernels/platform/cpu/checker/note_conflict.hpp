/// Notes pairs of places in kernel code that access one address of LDS with a barrier between them: how a stage is
/// filled, used and filled again. Edges do not show this, and a case with a new pair is worth keeping.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

inline constexpr int conflict_flag_bits = 12;

/// A flag for each pair of places, up to collisions. They lie among the flags of the module's edges (edge_flags.cpp),
/// so that readers of those see these too.
extern bool conflict_flags[std::size_t{1} << conflict_flag_bits];

/// Whether anyone ever asked for the module's flags. Else noting pairs is wasted: it is a fifth of what the check of a
/// load of LDS costs.
extern bool flags_are_read;

/// Two return addresses of the checker's callbacks, from the start of the module.
inline void note_conflict(std::uintptr_t earlier, std::uintptr_t later) {
  // Odd multipliers without structure, 2^32 over the golden ratio and over that of the plastic number (Roberts): the
  // product's upper bits depend on all bits of both.
  const auto mixed =
      static_cast<std::uint32_t>(earlier) * 0x9E3779B9U + static_cast<std::uint32_t>(later) * 0xC13FA9A9U;
  // OS threads may note the same pair at once.
  __atomic_store_n(&conflict_flags[mixed >> (32 - conflict_flag_bits)], true, __ATOMIC_RELAXED);
}

}  // namespace assay::cpu
