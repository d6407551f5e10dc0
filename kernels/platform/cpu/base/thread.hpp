/// The calling GPU thread: who it is, and the block-level operations it can take part in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "kernels/platform/cpu/base/fiber.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"

/// Last parameter of everything at which threads meet or yield: never passed, it names the caller's source line.
#define ASSAY_HERE std::source_location where = std::source_location::current()

namespace assay::cpu {

inline constexpr int max_block_size = 1024;

/// What all threads of the running block share and kernels may read.
struct block_coordinates {
  dim3 grid_dim;
  dim3 block_dim;
  uint3 block_index{};
  int wave_size = 64;
  int votes = 0;                       ///< of the last barrier
  std::uint32_t barrier_interval = 0;  ///< block barriers passed; the same for all threads that are running
  std::uint64_t number = 0;            ///< of this run of a block, among all of the OS thread
};

/// Coordinates of one GPU thread.
struct thread_coordinates {
  uint3 thread_index{};
  const block_coordinates* block = nullptr;
  std::int32_t wave = 0;
  std::int32_t lane = 0;
  const std::uint32_t* wave_interval = nullptr;  ///< whole-wave collectives the wave has passed in this block
};

/// The running GPU thread, or null outside of kernels. Fibers never change their OS thread, and every switch goes
/// through an opaque call, so the compiler may keep this variable's address across a switch but must reload its value.
extern thread_local constinit const thread_coordinates* this_thread;

// What kernels read of them, by calls: the checker sees the accesses of code that is inlined into kernels. They do not
// change while a thread lives, which lets the compiler call once.
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_extent();
[[gnu::const]] dim3 grid_extent();
/// Lane of the calling thread within its wave, and the wave size of the launch.
[[gnu::const]] int lane_id();
[[gnu::const]] int wave_size();

/// Threads that came with `vote` to the last barrier.
int last_votes();

/// Start of the block's dynamic LDS, 128-byte aligned.
void* dynamic_lds();

/// Addresses in the LDS as numbers of 32 bits, as GPUs have them: of the running block's dynamic LDS from 0 on, of
/// static variables from 2^30 on.
std::uint64_t shared_number(const void* address);
void* shared_pointer(std::uint64_t number);

/// An extern __shared__ array of the namespace: it lies in the running block's dynamic LDS.
template <class T>
struct dynamic_lds_of {
  // NOLINTNEXTLINE(google-explicit-constructor): the array's name is a pointer, too
  operator T*() const { return static_cast<T*>(dynamic_lds()); }
};

// First halves: they note the arrival and choose who goes on; follow() then does it (fiber.hpp says why they are two).
hand_over arrive_at_barrier(const char* name, std::source_location where, bool vote);
hand_over arrive_at_scheduling_point(const char* name, std::source_location where);

/// Waits until all threads of the block are here; returns how many came with `vote`.
inline int block_barrier(const char* name, std::source_location where, bool vote) {
  follow(arrive_at_barrier(name, where, vote));
  return last_votes();
}

/// Lets the schedule run another thread. Many of them in a row without note_progress() in between are a deadlock.
/// Outside of a kernel: does nothing.
inline void scheduling_point(const char* name, std::source_location where) {
  follow(arrive_at_scheduling_point(name, where));
}

/// Says that the block did something that others may have waited for.
void note_progress();

/// The next tick of the OS thread's clock.
long long next_tick();

/// A clock that ticks once a reading, after a scheduling point: loops that wait for it end.
inline long long scheduling_clock(const char* name, std::source_location where) {
  scheduling_point(name, where);
  note_progress();
  return next_tick();
}

/// What an atomic operation does to its location, and whether it orders what the thread did before it. Whether it
/// acquires makes no difference: see atomic_order.hpp.
struct atomic_operation {
  bool loads = true;
  bool stores = true;
  bool releases = false;
};
inline constexpr atomic_operation relaxed_update{};

/// Tells the checker of an atomic operation of the running thread on these bytes, which takes effect while the note
/// lives. `pc` names the place; without one, the place that makes the note.
class atomic_note {
 public:
  atomic_note(const void* accessed, std::size_t size, atomic_operation operation, std::uintptr_t pc = 0);
  ~atomic_note();
  atomic_note(const atomic_note&) = delete;
  atomic_note& operator=(const atomic_note&) = delete;

 private:
  class access_checker* checker_ = nullptr;
};

/// Tells the checker of a load or store that code of the platform is about to do for the running thread, at `pc`.
void note_load(const void* accessed, std::size_t size, std::uintptr_t pc);
void note_store(const void* accessed, std::size_t size, std::uintptr_t pc);
/// A unit reads LDS itself for the running thread, at `pc`: the stores before it must be published to such units.
void demand_published(const void* accessed, std::size_t size, std::uintptr_t pc);
/// A fence between what the running thread stored to LDS and units that read LDS themselves: fence.proxy.async.
void publish_lds();
/// The running thread waits for the end of the kernels before its own, where that may start early: what they stored is
/// seen, and what they read may be overwritten. Nothing else orders it behind them. Here they are done.
void await_kernel_before();
/// The access of the kernel's code at `pc` needs an address that is a multiple of `size`. If it is not, the checker
/// reports it and ends the block; where nothing is checked, throws std::invalid_argument.
void demand_multiple(const void* accessed, std::size_t size, std::uintptr_t pc);

/// Who sees what the running thread did before a fence, once they see an atomic of its after the fence.
enum class fence_scope : std::uint8_t { block, device };
/// A fence of both directions. Outside of a kernel, one of the OS thread.
void fence(fence_scope scope);

}  // namespace assay::cpu
