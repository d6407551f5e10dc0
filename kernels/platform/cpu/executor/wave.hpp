/// Wave-level rendezvous: what every cross-lane operation of the cpu platform is built on.
#pragma once

#include <cstdint>
#include <source_location>

#include "kernels/platform/cpu/base/thread.hpp"

namespace assay::cpu {

inline constexpr int max_wave_size = 64;

/// The mask of collectives that all living lanes join. Bit i of a mask is lane i.
inline constexpr std::uint64_t every_lane = ~std::uint64_t{0};

/// The records of one collective: `lane[i]` is what lane i passed, or null if that lane takes no part (it has left the
/// kernel). `size` is the wave size.
struct wave_records {
  void* lane[max_wave_size];
  int size;
};
using wave_operation = void (*)(wave_records& records);

/// First half of wave_rendezvous, as in thread.hpp.
hand_over arrive_at_rendezvous(const char* name, std::source_location where, std::uint64_t mask, void* record,
                               wave_operation operate);

/// Every lane of the wave that has not left the kernel comes here with a record of its own; the last to arrive runs
/// `operate(records)` once for all of them, then all go on. Lanes of one wave that wait at different collectives
/// (`name` or source line differ) and can never meet are reported as a divergent collective.
inline void wave_rendezvous(const char* name, std::source_location where, void* record, wave_operation operate) {
  follow(arrive_at_rendezvous(name, where, every_lane, record, operate));
}

/// The same among the lanes of `mask` only; collectives with different masks differ. A lane outside of its own mask is
/// a divergent collective.
inline void wave_rendezvous(const char* name, std::source_location where, std::uint64_t mask, void* record,
                            wave_operation operate) {
  follow(arrive_at_rendezvous(name, where, mask, record, operate));
}

/// Waits for the living lanes of `mask`.
inline void wave_barrier(const char* name, std::source_location where, std::uint64_t mask) {
  follow(arrive_at_rendezvous(name, where, mask, nullptr, nullptr));
}

/// First half of shuffle_bits; the answer is in shuffled_bits() when the lane goes on.
hand_over arrive_at_shuffle(const char* name, std::source_location where, std::uint64_t mask, std::uint64_t value,
                            int source_lane);
std::uint64_t shuffled_bits();

/// Value of `source_lane`, bit for bit. Reading from a lane that is not there (it has left, or is outside of the mask)
/// is a defect.
inline std::uint64_t shuffle_bits(const char* name, std::source_location where, std::uint64_t mask, std::uint64_t value,
                                  int source_lane) {
  follow(arrive_at_shuffle(name, where, mask, value, source_lane));
  return shuffled_bits();
}

/// Lanes that took part, and those of them whose predicate was true.
struct votes {
  std::uint64_t present;
  std::uint64_t set;
};
struct vote {
  bool predicate;
  votes result;
};
void count_votes(wave_records& records);
inline votes ballot(const char* name, std::source_location where, std::uint64_t mask, bool predicate) {
  vote own{predicate, {}};
  follow(arrive_at_rendezvous(name, where, mask, &own, &count_votes));
  return own.result;
}

/// `value`, which is the same in all living lanes of the wave. Throws std::invalid_argument
/// where it is not.
int demand_uniform(int value, std::source_location where);

}  // namespace assay::cpu
