/// What the platform keeps for a GPU thread while its block runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/checker/access_checker.hpp"

namespace assay::cpu {

inline checked_thread& running_thread() {
  return *static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
}

/// The running thread's T. What a thread of an earlier block left in it is forgotten.
template <class T>
T& own_in_block() {
  struct of_block {
    std::uint64_t number = 0;
    T kept;
  };
  static thread_local std::vector<of_block> of_threads(max_block_size);
  const thread_coordinates& self = *this_thread;
  const uint3 at = self.thread_index;
  const dim3 extent = self.block->block_dim;
  of_block& own = of_threads[(static_cast<std::size_t>(at.z) * extent.y + at.y) * extent.x + at.x];
  if (own.number != self.block->number) own = {self.block->number, {}};
  return own.kept;
}

}  // namespace assay::cpu
