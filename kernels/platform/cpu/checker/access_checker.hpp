/// Checks the loads and stores of one OS thread's blocks. Of each access it knows thread, wave, block, and the stamp of
/// its wave's interval (clock.hpp). Two accesses of different threads to one location are ordered if
/// - a launch or a barrier of their block ended between them, but for a launch that may start before those before it
///   are done, and a thread of it that has not waited for them; or
/// - they belong to one wave, and a collective of all its living lanes completed between them, or the launch assumes
///   lanes in lockstep; or
/// - the earlier thread executed a fence and then an atomic after its access, and then the later thread an atomic on
/// the
///   same location before its own (atomic_order.hpp).
/// Otherwise they race if at least one of them writes, any value, and at least one is not an atomic. An asynchronous
/// copy races with every access to its destination before the wait for it, its own thread's included. A unit that reads
/// LDS itself races with stores that no fence published to it. So the verdict does not depend on the order in which the
/// executor happened to run the threads, but for what atomics order, and for a reader's own fence
/// (published_stores.hpp).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/checker/access_defect.hpp"
#include "kernels/platform/cpu/checker/access_record.hpp"
#include "kernels/platform/cpu/checker/atomic_order.hpp"
#include "kernels/platform/cpu/checker/module_image.hpp"
#include "kernels/platform/cpu/checker/published_stores.hpp"
#include "kernels/platform/cpu/checker/session.hpp"

namespace assay::cpu {

class access_checker;

/// A wave's time. A stamp ends at collectives of the whole wave and at atomics of any lane; only the former order its
/// lanes, so accesses since `floor` are not ordered among them.
struct wave_time {
  access_record now = 0;  ///< the stamp, in a record's place; 0: to be given at the next access
  access_record floor = 0;
  void pass_collective() { now = floor = 0; }
};

/// A GPU thread as the checker sees it.
struct checked_thread : thread_coordinates {
  std::uintptr_t stack_low = 0;
  std::uint64_t stack_bytes = 0;
  access_record thread_bits = 0;      ///< its place in a record
  wave_time* time = nullptr;          ///< of its wave
  access_checker* checker = nullptr;  ///< null: not checked
};

/// While it lives, the thread runs the executor's own code, and its accesses are not checked. Needed because the linker
/// may take templates that several files instantiate, such as members of containers, from instrumented code.
class own_accesses {
 public:
  explicit own_accesses(checked_thread& self) : self_(self), checker_(std::exchange(self.checker, nullptr)) {}
  ~own_accesses() { self_.checker = checker_; }
  own_accesses(const own_accesses&) = delete;
  own_accesses& operator=(const own_accesses&) = delete;

 private:
  checked_thread& self_;
  access_checker* checker_;
};

/// Block-local memory: dynamic LDS, or the module's thread-local variables, __shared__ among them.
struct local_area {
  std::uintptr_t low = 0;
  std::uint64_t size_bytes = 0;
  access_record* writes = nullptr;  ///< last ones, a word for each grain
  access_record* reads = nullptr;
  std::uint64_t grain_bytes = 2;
  bool has_odd_accesses = false;  ///< in this launch: of odd sizes or at odd offsets

  /// A word for each byte from now on. Most kernels get by with half of the words, and so with half of the time.
  void split_grains();
  /// Before a launch, which mostly accesses as the one before it did: with grains of two bytes if all accesses were of
  /// whole ones. What the words hold is older than the launch.
  void begin_launch() {
    grain_bytes = has_odd_accesses ? 1 : 2;
    has_odd_accesses = false;
  }
};

/// `atomic` loads and stores.
enum class access_kind : std::uint8_t { load, store, atomic, atomic_load, atomic_store };
constexpr bool is_atomic(access_kind kind) {
  return kind != access_kind::load && kind != access_kind::store;
}
constexpr bool only_loads(access_kind kind) {
  return kind == access_kind::load || kind == access_kind::atomic_load;
}

/// A run of bytes without gaps that belongs to one region, or to one variable of the module.
struct memory_run {
  std::uintptr_t low = 0;
  std::uint64_t size_bytes = 0;
  const memory_region* region = nullptr;
  bool holds(std::uintptr_t address, std::uint64_t size) const {
    const std::uint64_t offset = address - low;
    return offset < size_bytes && size <= size_bytes - offset;
  }
};

/// Problems of an access to a location, as bits.
enum problem : unsigned { unwritten = 1, races_with_write = 2, races_with_read = 4 };

class access_checker {
 public:
  /// `leave_block` abandons the running thread and its block. Called for accesses that must not take place.
  explicit access_checker(void (*leave_block)(checked_thread& self));
  /// Does not check this memory: the executor's own, which code inlined into kernels uses.
  void exempt(const void* start, std::uint64_t size_bytes) {
    executor_low_ = reinterpret_cast<std::uintptr_t>(start);
    executor_bytes_ = size_bytes;
  }

  /// Before a block's first thread runs.
  void begin_block(launch_session& session, const block_coordinates& coordinates, std::int64_t block,
                   std::uintptr_t lds_low, std::uint64_t lds_bytes);
  /// The running thread waits until the kernels before this one are done.
  void await_kernel_before(checked_thread& self);
  /// All threads of the block met. The caller also sets all waves' intervals to 0.
  void pass_barrier();
  /// The lanes of a wave, of which this is one, met.
  void pass_collective(checked_thread& any_lane, std::uint64_t lanes);
  /// Whether this is the second call for an access of which the first was just checked (callbacks.cpp).
  bool is_second_call(std::uintptr_t address, std::uint64_t size) {
    const bool is_second = address == last_byte_;
    last_byte_ = is_second ? 0 : address + size - 1;
    return is_second;
  }
  /// Around an atomic of the running thread, until it has taken effect.
  void begin_atomic(checked_thread& self, std::uintptr_t address, const atomic_operation& operation);
  void end_atomic();
  /// clang leaves the load in place that its call for an atomic load replaces, and the load calls back as any other,
  /// right after that call: if the next access is a load of this address, it is not the kernel's.
  void expect_left_over_load(std::uintptr_t address) { left_over_address_ = address; }
  /// At a fence of the running thread.
  void pass_fence(checked_thread& self, fence_scope scope);
  /// Accesses outside of the own stack that were checked since the last call.
  std::int64_t take_count();
  std::vector<access_defect>& defects() { return defects_; }
  /// The defect that ended the block, if one did.
  const std::optional<access_defect>& fatal() const { return fatal_; }

  /// Before an access outside of the own stack.
  template <access_kind Kind>
  void check(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc);
  /// An asynchronous copy of the running thread to LDS: from begin_copy(), which is a store, until land_copy() no
  /// thread may access its destination. `address` and `size` are multiples of 2.
  void begin_copy(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc);
  void land_copy(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc);
  /// At a fence of the running thread between what it stored to LDS and units that read LDS themselves.
  void publish(checked_thread& self);
  /// Such a unit reads for the running thread, which is a load of it, too: that stores to these bytes were published.
  void demand_published(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc);
  /// Ends the block: vector loads of misaligned addresses fault on CPUs as on GPUs.
  [[noreturn]] void report_misaligned(checked_thread& self, std::uintptr_t address, std::uint64_t alignment,
                                      const char* type, const char* file, int line);
  /// The same of an access of `size` bytes at `pc`, whose type is not known.
  [[noreturn]] void report_misaligned(checked_thread& self, std::uintptr_t address, std::uint64_t size,
                                      std::uintptr_t pc);
  /// Ends the block: the access at `pc` faulted, since no memory is at what it takes for an address.
  [[noreturn]] void report_no_address(checked_thread& self, std::uintptr_t pc);
  /// Ends the block: an index past the extent that the array's type says. `line` as in "paging.hpp:68".
  [[noreturn]] void report_index(checked_thread& self, std::int64_t index, const char* type, std::string line);

 private:
  struct access {
    access_kind kind;
    std::uintptr_t address;
    std::uint64_t size;
    std::uintptr_t pc;
  };
  /// Notes which two places of the code a barrier ordered, if it ordered this access after an earlier one.
  template <access_kind Kind>
  void note_order(access_record write, access_record read, std::uintptr_t site) const;
  template <access_kind Kind>
  void check_static(checked_thread& self, std::uint64_t offset, std::uint64_t size, std::uintptr_t pc);
  template <access_kind Kind>
  void check_grains_fully(checked_thread& self, const local_area& area, std::uint64_t first, std::uint64_t count,
                          std::uintptr_t pc);
  bool is_past(access_record earlier, access_record now, access_record wave_floor) const;
  bool passes_load(checked_thread& self, const local_area& area, std::uint64_t first, std::uint64_t count,
                   std::uintptr_t pc);
  bool passes_store(checked_thread& self, const local_area& area, std::uint64_t first, std::uint64_t count,
                    std::uintptr_t pc);
  template <access_kind Kind>
  void check_grains(checked_thread& self, const local_area& area, std::uint64_t first, std::uint64_t count,
                    std::uintptr_t pc);
  template <access_kind Kind>
  void check_local(checked_thread& self, local_area& area, std::uint64_t offset, std::uint64_t size, std::uintptr_t pc);
  template <access_kind Kind>
  void check_elsewhere(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc);
  template <access_kind Kind>
  void check_region(checked_thread& self, const memory_region& region, std::uint64_t offset, std::uint64_t size,
                    std::uintptr_t pc);
  /// Writes the record of a copy's destination. Does nothing outside of the LDS.
  void record_copy(std::uintptr_t address, std::uint64_t size, access_record write);
  void forget_copies();
  /// The run that holds the access. Empty, but with the region, if several runs that touch do; without a region if the
  /// access is to nothing that the launch knows.
  [[gnu::noinline]] memory_run find_run(checked_thread& self, std::uintptr_t address, std::uint64_t size) const;

  access_record mine(checked_thread& self, std::uintptr_t pc) {
    access_record interval = self.time->now;
    if (interval == 0) interval = begin_interval(*self.time);
    return interval | self.thread_bits | ((pc - code_start_) & record::site_mask);
  }
  access_record begin_interval(wave_time& time);
  /// What one lane has waited for, all have that met it.
  void pass_awaited(int wave, std::uint64_t lanes);
  std::uint32_t next_stamp();
  bool same_wave(access_record a, access_record b) const {
    return ((a ^ b) & record::thread_mask) >> (record::thread_shift + wave_shift_) == 0;
  }

  // Of two accesses, the earlier of which is no older than the block's last barrier (local) or the session (global).
  /// Whether the access of `now` comes before the wait for the kernels of the record's time: their accesses may be
  /// under way still. `earlier` is older than the launch.
  bool is_too_early(access_record earlier, access_record now) const {
    return earlier >= row_floor_ && !has_awaited(now);
  }
  [[gnu::noinline]] bool has_awaited(access_record now) const;
  template <bool Global>
  bool races(access_record earlier, access_record now, access_record wave_floor) const;
  template <bool Global>
  access_record merged(access_record earlier, access_record now, access_record wave_floor) const;
  template <bool Global>
  void note(access_record& location, access_record now, access_record wave_floor) const;
  /// Whether atomics order it before the access of `now`.
  bool is_known_past(access_record earlier, access_record now) const {
    return has_order_ && !record::is_in_flight(earlier) && is_ordered_before(earlier, now);
  }
  bool is_ordered_before(access_record earlier, access_record now) const;
  /// Tells the session's watch of a load of a tensor.
  [[gnu::cold, gnu::noinline]] void tell_watch(checked_thread& self, const memory_region& region, std::uint64_t offset,
                                               std::uint64_t size, std::uintptr_t pc);
  bool is_left_over(access_kind kind, std::uintptr_t address) {
    if (left_over_address_ == 0) [[likely]]
      return false;
    return std::exchange(left_over_address_, 0) == address && kind == access_kind::load;
  }
  /// Which of `problem` the access has with that location.
  template <access_kind Kind, bool Global>
  unsigned touch(access_record& write, access_record& read, access_record now, access_record wave_floor,
                 access_record born, access_record& other) const;

  /// Learns what the running thread did before this moment, and what it knows.
  void learn_now(known_past& to, const checked_thread& self) const;
  void begin_order();

  // Reports: checker_report.cpp.
  const memory_region* find_region(std::uintptr_t address, std::uint64_t size) const;
  memory_run& last_run_of(std::uintptr_t pc) { return last_runs_[(pc ^ pc >> 6) % 64]; }
  memory_run& last_row_at(std::uintptr_t address) { return last_rows_[(address >> 8) % 64]; }
  [[gnu::cold, gnu::noinline]] void report_local(checked_thread& self, const access& what, unsigned problems,
                                                 access_record other, const local_area& area, std::uint64_t offset);
  [[gnu::cold, gnu::noinline]] void report_global(checked_thread& self, const access& what, unsigned problems,
                                                  access_record other, const memory_region& region,
                                                  std::uint64_t offset);
  void report_problems(const checked_thread& self, const access& what, unsigned problems, access_record other,
                       bool is_global, const std::string& place);
  [[gnu::cold, gnu::noinline]] void report_unpublished(checked_thread& self, const access& what, access_record store,
                                                       const local_area& area, std::uint64_t offset);
  /// Ends the block: the memory of an input may be read-only.
  [[noreturn, gnu::cold, gnu::noinline]] void report_input_store(checked_thread& self, const access& what,
                                                                 const memory_region& region);
  [[gnu::cold, gnu::noinline]] void report_outside(checked_thread& self, const access& what);
  void report_outside_variable(const checked_thread& self, const access& what, const module_variable* nearest,
                               std::uint64_t place, const std::string& name);
  [[gnu::cold, gnu::noinline]] void report_outside_static(checked_thread& self, const access& what);
  bool is_new(assay_defect_kind kind, std::uintptr_t pc);
  access_defect make_defect(const checked_thread& self, assay_defect_kind kind, const access& what,
                            std::string message) const;
  /// Moves from `found`, a named object: destructors of the callers do not run, so a temporary would leak.
  [[noreturn]] void end_block(checked_thread& self, access_defect& found);
  std::string what_it_is(const access& what) const;
  std::string who(access_record other, bool is_global) const;
  std::string place_of(std::uintptr_t address) const;
  std::string place_in(const local_area& area, std::uint64_t offset) const;
  std::string place_in(const memory_region& region, std::uint64_t offset) const;

  void (*leave_block_)(checked_thread& self);
  local_area dynamic_, static_;
  std::uintptr_t executor_low_ = 0;  // the fibers: switches access them from within kernel code
  std::uint64_t executor_bytes_ = 0;
  access_record barrier_floor_ = 0;  // records below are of before the last barrier of the block
  access_record block_floor_ = 0;    // ... of before the block
  access_record launch_floor_ = 0;   // ... of before the launch
  access_record row_floor_ = 0;      // ... of before the launches that may not be done when this one starts
  std::uintptr_t code_start_;
  std::uint32_t stamp_ = 0;  // the last one given
  int wave_shift_ = 6;
  bool lockstep_ = false;
  bool shared_ = false;                   // other OS threads run blocks of the launch
  bool watched_ = false;                  // the session has a watch
  std::array<memory_run, 64> last_runs_;  // by place in the code, which mostly accesses one run
  std::array<memory_run, 64> last_rows_;  // by address: the lanes of a wave share rows
  module_variable last_static_;
  std::int64_t count_ = 0;
  std::int64_t copies_in_flight_ = 0;

  std::uintptr_t last_byte_ = 0;  // of the last access that calls twice, until its second call
  std::uintptr_t left_over_address_ = 0;
  bool has_order_ = false;  // by atomics or fences, in this block so far
  std::vector<order_state> of_threads_, of_waves_;
  order_state of_block_;
  published_stores published_;  // of this block
  bool may_start_early_ = false;
  std::bitset<max_block_size> has_awaited_;  // the kernels before: threads of this block
  std::vector<access_record> awaits_;        // theirs

  launch_session* session_ = nullptr;
  std::uint64_t era_ = 0;
  std::uint64_t launch_ = 0;
  std::int64_t block_ = 0;
  mapped_array<access_record> dynamic_records_, static_records_;  // writes, then reads
  std::vector<access_defect> defects_;
  std::vector<std::pair<assay_defect_kind, std::uintptr_t>> reported_;  // in this launch
  std::optional<access_defect> fatal_;
};

}  // namespace assay::cpu
