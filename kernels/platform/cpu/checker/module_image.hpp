/// The module (program or shared object) that the platform is linked into, and with it the kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/platform/cpu/checker/memory_map.hpp"

namespace assay::cpu {

/// Its loaded segments: constants and globals.
const std::vector<memory_region>& module_image();

/// The calling OS thread's copy of its thread-local variables: there are the kernels' static __shared__ ones.
struct thread_local_image {
  std::uintptr_t low = 0;
  std::uint64_t size_bytes = 0;
};
thread_local_image own_thread_locals();

/// Start of the module's code. Records of accesses hold offsets from here: constants before it may be larger than they.
std::uintptr_t code_start();

}  // namespace assay::cpu
