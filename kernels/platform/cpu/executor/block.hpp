/// One OS thread's machinery to run blocks: the fibers of a block's threads, its waves, barrier and LDS. Internal to
/// the executor.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/platform/cpu/base/fiber.hpp"
#include "kernels/platform/cpu/base/local_memory.hpp"
#include "kernels/platform/cpu/base/own_stack.hpp"
#include "kernels/platform/cpu/base/remote_memory.hpp"
#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/checker/access_checker.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"
#include "kernels/platform/cpu/executor/scheduler.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

namespace assay::cpu {

/// A defect as found: everything of assay_defect but the kernel's name.
struct found_defect {
  assay_defect_kind kind;
  std::string message;
  uint3 block{};
  int wave = -1;
  int lane = -1;
};

/// Why a block did not run to its end: a defect, an exception, or neither if it was abandoned for an earlier block's.
struct failure {
  std::optional<found_defect> defect;
  std::exception_ptr thrown;
};

/// A name and a source line at which threads meet.
struct meeting_place {
  const char* name = nullptr;
  std::source_location where;
  bool operator==(const meeting_place& other) const {
    // Pointers of equal strings are nearly always equal.
    const char* a = where.file_name();
    const char* b = other.where.file_name();
    return where.line() == other.where.line() && where.column() == other.where.column() &&
           (name == other.name || std::strcmp(name, other.name) == 0) && (a == b || std::strcmp(a, b) == 0);
  }
};
/// "__syncthreads (split_kv_kernel.hpp:120)".
std::string text(const meeting_place& place);

class block_runner;

struct gpu_thread : checked_thread {
  fiber context;
  own_stack_flag stack;
  block_runner* runner = nullptr;
  meeting_place place;  // where it last waited or yielded
};

/// Lanes that wait for each other.
struct collective {
  meeting_place place;
  std::uint64_t mask = 0;
  std::uint64_t arrived = 0;
  wave_operation operate = nullptr;
};

struct wave_state {
  wave_records records{};
  std::uint32_t interval = 0;
  wave_time time;
  int num_collectives = 0;
  collective collectives[max_wave_size];  // each has a lane of its own, so there are never more
  struct shuffle_slot {
    std::uint64_t value;
    std::uint64_t result;
    std::int32_t source;
  } shuffles[max_wave_size];  // side by side, not on the lanes' stacks: the last lane reads them all
};

/// What the blocks of one launch share.
struct launch_plan {
  const grid_launch* grid = nullptr;
  assay_launch parameters{};
  std::uint64_t seed = 0;             ///< of this launch
  launch_session* session = nullptr;  ///< null: not checked
};

/// The blocks that run at the same time. Asked when a block makes no progress.
class neighbours {
 public:
  virtual ~neighbours() = default;
  enum class advice { keep_waiting, give_up, abandon };
  /// keep_waiting while earlier blocks run, abandon once an earlier block has failed, else give_up.
  virtual advice ask(std::int64_t block) = 0;
};

class block_runner {
 public:
  block_runner();
  /// The calling OS thread's own.
  static block_runner& of_this_thread();
  /// The runner of the running GPU thread. Throws std::logic_error outside of kernels, naming the operation.
  static block_runner& of_running_block(const char* operation) {
    if (this_thread == nullptr) report_outside(operation);
    return *running().runner;
  }

  /// Runs the block of that linear index to its end, or to a failure.
  std::optional<failure> run(const launch_plan& plan, std::int64_t block_index, neighbours& others);

  // What the running thread can do; it then has to follow() the answer.
  hand_over barrier(const meeting_place& place, bool vote);
  hand_over rendezvous(const meeting_place& place, std::uint64_t mask, void* record, wave_operation operate);
  hand_over yield(const meeting_place& place);
  void note_progress() { idle_steps_ = 0; }
  wave_state& own_wave() { return waves_[static_cast<std::size_t>(this_thread->wave)]; }
  void* lds() { return lds_.data(); }
  /// A defect: lane `lane` of the running wave reads from a lane that takes no part.
  [[noreturn]] void end_for_absent_source(int lane, int source);
  access_checker& checker() { return checker_; }

 private:
  /// A defect: the checker's fatal() one.
  [[noreturn]] static void leave_for_illegal_access(checked_thread& self);
  static void thread_main(boost::context::detail::transfer_t from);
  static gpu_thread& running() { return *static_cast<gpu_thread*>(const_cast<thread_coordinates*>(this_thread)); }
  gpu_thread& thread(int wave, int lane) { return threads_[index_of(wave, lane)]; }
  std::size_t index_of(int wave, int lane) const {
    return static_cast<std::size_t>(wave) * static_cast<std::size_t>(coordinates_.wave_size) +
           static_cast<std::size_t>(lane);
  }
  std::uint64_t all_lanes() const { return every_lane >> (max_wave_size - coordinates_.wave_size); }
  void set_up_threads(const launch_plan& plan);
  void set_up_checks(const launch_plan& plan);
  void give_checkers();
  void exit_thread(gpu_thread& self);
  void complete(wave_state& wave, int wave_index, int index, std::uint64_t still_running);
  hand_over go_on(gpu_thread& self);
  hand_over resume(gpu_thread& self, choice next);
  [[noreturn]] static void report_outside(const char* operation);

  /// How the block came to its end.
  enum class ending {
    complete,
    thrown,
    stuck,
    waited_in_vain,
    outside_own_mask,
    absent_source,
    illegal_access,
    needless
  };
  /// Leaves the running thread and all others for good, where they are. Does not run destructors, so callers must own
  /// nothing; the report is made afterwards, on the OS thread's own stack.
  [[noreturn]] void end(ending how);
  std::optional<failure> outcome();

  // diagnose.cpp: where the threads stopped, and which one differs.
  struct standing;
  standing standing_of(int wave, int lane) const;
  std::vector<standing> standings(int first_wave, int last_wave) const;
  found_defect defect(assay_defect_kind kind, std::string message, int wave, int lane) const;
  found_defect diagnose_stuck() const;
  found_defect diagnose_waiting_in_vain() const;
  found_defect diagnose_outside_own_mask() const;
  found_defect diagnose_absent_source() const;
  std::optional<found_defect> diagnose_lds() const;

  stack_slab stacks_;
  local_memory lds_;
  std::span<std::byte> static_lds_;  // of this OS thread
  access_checker checker_;
  fiber home_;
  remote_memory thread_memory_;
  std::span<gpu_thread> threads_;  // in that memory, of which the checker lets kernels access what it wants
  int started_fibers_ = 0;         // fibers below this index wait in exit_thread for their next block
  std::unique_ptr<wave_state[]> waves_;
  bool checks_ = false;  // the threads of the block are checked
  std::uint64_t alive_[max_waves] = {};
  std::uint64_t initial_[max_waves] = {};
  scheduler schedule_;
  block_coordinates coordinates_;
  const launch_plan* plan_ = nullptr;
  neighbours* others_ = nullptr;
  std::int64_t block_index_ = 0;
  int num_threads_ = 0;
  int num_waves_ = 0;
  int num_alive_ = 0;
  std::uint64_t operating_mask_ = 0;  // of the collective whose operation runs
  meeting_place barrier_;
  int barrier_arrived_ = 0;
  bool barrier_diverged_ = false;
  int barrier_votes_ = 0;
  std::uint64_t idle_steps_ = 0;  // scheduling points since something changed
  std::uint64_t busy_steps_ = 0;  // scheduling points since a barrier, collective or exit
  ending ending_ = ending::complete;
  std::exception_ptr thrown_;
  const gpu_thread* last_running_ = nullptr;  // who ended the block
  std::int32_t reader_lane_ = 0;              // of absent_source
  std::int32_t source_lane_ = 0;
};

}  // namespace assay::cpu
