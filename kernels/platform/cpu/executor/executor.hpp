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
/// These and all other defects (library.h: assay_defect_kind) end the launch: the block is abandoned, later blocks do
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

#include "kernels/library_call.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"

namespace assay::cpu {

/// LDS of one block on every AMD GPU up to gfx942.
inline constexpr std::size_t default_lds_limit_bytes = 65536;
/// The most that any GPU gives a kernel that asks for it (hipFuncSetAttribute): 227 KiB of NVIDIA's sm_90.
inline constexpr std::size_t largest_lds_bytes = 232448;

/// Sets the launch parameters of all kernels that the calling OS thread launches while the scope lives. Scopes nest.
/// Without one: those of the call that the suite announced (kernels/library_call.hpp), which makes one of its own
/// around each run(). Without a call: wave size 64, round robin, one worker, defects not reported.
class launch_scope {
 public:
  /// With `parameters.checked`, `tensors` are what its kernels may access in global memory, beside the launch's
  /// workspace and memory of hipMalloc, and `watch`, where not null, sees the loads of inputs.
  explicit launch_scope(const assay_launch& parameters, std::size_t lds_limit_bytes = default_lds_limit_bytes,
                        std::span<const assay_tensor> tensors = {}, const assay_load_watch* watch = nullptr);
  ~launch_scope();
  launch_scope(const launch_scope&) = delete;
  launch_scope& operator=(const launch_scope&) = delete;

  /// What other OS threads launch belongs to it, too, from now on: one launch at a time.
  void share() { is_shared_ = true; }
  bool is_shared() const { return is_shared_; }
  /// Defects reported in this scope so far.
  int defects() const { return defects_; }

 private:
  friend void launch(const struct grid_launch& grid);
  friend void launch_in(launch_scope* scope, const struct grid_launch& grid);
  friend void end_row_of_launches();
  friend int scope_wave_size();
  friend std::size_t lds_limit_of(const launch_scope* scope);
  assay_launch parameters_;
  std::size_t lds_limit_bytes_;
  std::uint64_t launches_ = 0;  // so that each launch of a scope draws its own random schedule
  int defects_ = 0;
  bool is_shared_ = false;
  std::unique_ptr<class launch_session> session_;  // of a checked scope
  launch_scope* outer_;
};

/// Of the innermost scope, or what a launch without one has.
int scope_wave_size();
std::size_t scope_lds_bytes();

/// Dynamic LDS that a kernel of the module asks for. False if the scope's launches cannot have it. In calls that
/// the suite announces, launches may from now on have so much.
bool ask_for_lds(std::size_t bytes);

/// One kernel launch with its arguments bound. `call(closure)` is run by every thread.
struct grid_launch {
  const char* name;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  void (*call)(const void* closure);
  const void* closure;
  std::size_t closure_bytes;  ///< holds the arguments: the kernel may read them
  int wave_size = 0;          ///< for which the kernel was compiled; 0: as the scope says
  /// On GPUs it may start before the launch before it is done (see await_kernel_before()). Here it never does.
  bool may_start_early = false;
};

/// Host code did something that the launches before it end before: one that may start early starts in turn then.
void end_row_of_launches();

/// Runs the grid. Sets the last HIP error: hipErrorInvalidConfiguration for sizes that no GPU takes (nothing runs),
/// hipErrorLaunchFailure after a defect. Rethrows what a kernel threw.
void launch(const grid_launch& grid);

}  // namespace assay::cpu
