/// What the checkers of all OS threads share while one thread's launches run: the clock and the map of memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/library_call.hpp"
#include "kernels/platform/cpu/checker/atomic_order.hpp"
#include "kernels/platform/cpu/checker/clock.hpp"
#include "kernels/platform/cpu/checker/memory_map.hpp"

namespace assay::cpu {

/// Memory and launches of one checked launch_scope. Nothing outlives it but the shadow's pages.
class launch_session {
 public:
  /// `workspace` is that of the launch, or empty. Its bytes may be read where the session's kernels wrote them.
  launch_session(std::span<const assay_tensor> tensors, std::span<const std::byte> workspace, bool lockstep,
                 const assay_load_watch* watch);
  ~launch_session();
  launch_session(const launch_session&) = delete;
  launch_session& operator=(const launch_session&) = delete;

  /// Makes the map ready for a launch with these arguments. Launches of a session follow each other.
  void begin_launch(const void* arguments, std::size_t argument_bytes, bool shared, bool may_start_early);

  launch_clock& clock() { return resources_.clock; }
  atomic_locations& atomics() { return atomics_; }
  const std::vector<memory_region>& regions() const { return regions_; }
  access_record run_floor() const { return run_floor_; }        ///< older records are of before the session
  access_record launch_floor() const { return launch_floor_; }  ///< ... of before the launch
  access_record row_floor() const { return row_floor_; }        ///< ... of before those that may run beside it
  /// Whether the launch may start before the one before it is done: programmatic dependent launch on NVIDIA's GPUs. As
  /// that one may have started early itself, none of the row is known to be done, back to the last that started in
  /// turn. What another session's launches did is not known to this one.
  bool may_start_early() const { return may_start_early_; }
  /// A thread of the launch waited for the ones before.
  void note_wait() { is_awaited_ = true; }
  /// Whether the launch started early and none of its threads waited: its end does not mean the end of those before.
  bool lacks_wait() const { return may_start_early_ && !is_awaited_; }
  /// All launches so far are done before the next one starts, even if that may start early.
  void end_row() { row_ended_ = true; }
  bool lockstep() const { return lockstep_; }
  bool shared() const { return shared_; }
  const assay_load_watch* watch() const { return watch_; }  ///< null: loads are not watched
  std::uint64_t launches() const { return launches_; }      ///< of all sessions so far: names this launch

 private:
  struct resources {
    launch_clock clock;
    shadow_arena arena;
  };
  static resources& of_this_thread();
  void add(memory_region region);
  access_record* shadow(std::uint64_t words);

  resources& resources_;
  std::uint64_t mark_;
  std::size_t tensor_regions_ = 0;
  std::uint64_t tensor_mark_ = 0;
  std::vector<memory_region> regions_;
  std::vector<mapped_array<access_record>> own_shadows_;  // of regions too large for the arena
  atomic_locations atomics_;                              // of the launch
  access_record run_floor_ = 0;
  access_record launch_floor_ = 0;
  access_record row_floor_ = 0;
  bool may_start_early_ = false;
  bool row_ended_ = false;
  std::atomic<bool> is_awaited_ = false;
  bool lockstep_;
  const assay_load_watch* watch_;
  bool shared_ = false;
  std::uint64_t launches_ = 0;
};

}  // namespace assay::cpu
