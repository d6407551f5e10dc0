/// The SIMT executor: runs a grid on the CPU with one fiber per GPU thread.
///
/// Blocks run in ascending order (x fastest), one at a time per OS thread, each to completion. Within a block the
/// schedule of the launch decides which ready thread goes on at each scheduling point: barriers, wave collectives,
/// atomics, fences. The same launch parameters give the same interleaving, whatever the number of workers.
///
/// In a checked scope loads and stores of instrumented code are checked (checker/access_checker.hpp). Their defects are
/// reported at the end of the launch, each source line once per kind. Only those that could fault end the block:
/// accesses to memory that may not exist, misaligned accesses, and stores to memory that may be read-only.
///
/// These and all other defects (library.hpp: assay_defect_kind) end the launch: the block is abandoned, later blocks do
/// not start, the launch reports the defect of the lowest block, and hipGetLastError returns hipErrorLaunchFailure.
/// Destructors on the stacks of abandoned threads do not run. An exception that leaves a kernel does the same, and the
/// launch rethrows it.
///
/// Blocks may wait for earlier blocks, never for later ones: no GPU guarantees that later ones run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/library.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"

namespace assay::cpu {

/// LDS of one block on every AMD GPU up to gfx942.
inline constexpr std::size_t default_lds_limit_bytes = 65536;

/// Sets the launch parameters of all kernels that the calling OS thread launches while the scope lives. Scopes nest.
/// Without one: wave size 64, round robin, one worker, defects not reported.
class launch_scope {
 public:
  /// With `parameters.checked`, `tensors` are what its kernels may access in global memory, beside memory of hipMalloc.
  explicit launch_scope(const assay_launch& parameters, std::size_t lds_limit_bytes = default_lds_limit_bytes,
                        std::span<const assay_tensor> tensors = {});
  ~launch_scope();
  launch_scope(const launch_scope&) = delete;
  launch_scope& operator=(const launch_scope&) = delete;

  /// Defects reported in this scope so far.
  int defects() const { return defects_; }

 private:
  friend void launch(const struct grid_launch& grid);
  friend int scope_wave_size();
  friend std::size_t scope_lds_bytes();
  assay_launch parameters_;
  std::size_t lds_limit_bytes_;
  std::uint64_t launches_ = 0;  // so that each launch of a scope draws its own random schedule
  int defects_ = 0;
  std::unique_ptr<class launch_session> session_;  // of a checked scope
  launch_scope* outer_;
};

/// Of the innermost scope, or what a launch without one has.
int scope_wave_size();
std::size_t scope_lds_bytes();

/// One kernel launch with its arguments bound. `call(closure)` is run by every thread.
struct grid_launch {
  const char* name;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  void (*call)(const void* closure);
  const void* closure;
  std::size_t closure_bytes;  ///< holds the arguments: the kernel may read them
};

/// Runs the grid. Sets the last HIP error: hipErrorInvalidConfiguration for sizes that no GPU takes (nothing runs),
/// hipErrorLaunchFailure after a defect. Rethrows what a kernel threw.
void launch(const grid_launch& grid);

}  // namespace assay::cpu
