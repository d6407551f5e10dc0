/// Wave-level rendezvous: what every cross-lane operation of the cpu platform is built on.
#pragma once

#include <cstdint>
#include <source_location>

namespace assay::cpu {

inline constexpr int max_wave_size = 64;

/// The records of one collective: `lane[i]` is what lane i passed, or null if that lane takes no part (it has left the
/// kernel). `size` is the wave size.
struct wave_records {
  void* lane[max_wave_size];
  int size;
};

/// Every lane of the wave that has not left the kernel comes here with a record of its own; the last to arrive runs
/// `operate(records)` once for all of them, then all go on. Lanes of one wave that wait at different collectives
/// (`name` or source line differ) and can never meet are reported as a divergent collective.
void wave_rendezvous(const char* name, std::source_location where, void* record, void (*operate)(wave_records& records));

/// Lane of the calling thread within its wave, and the wave size of the launch.
int lane_id();
int wave_size();

}  // namespace assay::cpu
