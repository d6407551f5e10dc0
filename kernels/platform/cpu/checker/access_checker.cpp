#include "kernels/platform/cpu/checker/access_checker.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/platform/cpu/checker/module_image.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

namespace assay::cpu {

void local_area::split_grains() {
  for (access_record* const words : {writes, reads})
    for (std::uint64_t grain = (size_bytes + 1) / 2; grain-- > 0;)
      words[2 * grain] = words[2 * grain + 1] = words[grain];  // from the end: a word lies below both of its own
  grain_bytes = 1;
}

access_checker::access_checker(void (*leave_block)(checked_thread& self))
    : leave_block_(leave_block), code_start_(code_start()) {
  const thread_local_image own = own_thread_locals();
  const std::uint64_t records = own.size_bytes + own.size_bytes % 2;  // whole grains
  static_records_ = mapped_array<access_record>(2 * records);
  static_ = {own.low, own.size_bytes, static_records_.data(), static_records_.data() + records};
}

void access_checker::begin_block(launch_session& session, const block_coordinates& coordinates, std::int64_t block,
                                 std::uintptr_t lds_low, std::uint64_t lds_bytes) {
  last_byte_ = left_over_address_ = 0;
  if (session.clock().era() != era_) {
    era_ = session.clock().era();
    static_records_.clear();
    dynamic_records_.clear();
  }
  if (session.launches() != launch_) {
    launch_ = session.launches();
    defects_.clear();
    reported_.clear();
    last_runs_.fill({});
    last_rows_.fill({});
    for (local_area* const area : {&dynamic_, &static_}) area->begin_launch();
  }
  const std::uint64_t records = 2 * (lds_bytes + lds_bytes % 2);  // whole grains of writes, and of reads
  if (dynamic_records_.count() < records) dynamic_records_ = mapped_array<access_record>(records);
  dynamic_.low = lds_low;
  dynamic_.size_bytes = lds_bytes;
  dynamic_.writes = dynamic_records_.data();
  dynamic_.reads = dynamic_records_.data() + dynamic_records_.count() / 2;
  if (copies_in_flight_ != 0) forget_copies();
  session_ = &session;
  block_ = block;
  fatal_.reset();
  wave_shift_ = std::countr_zero(static_cast<unsigned int>(coordinates.wave_size));
  lockstep_ = session.lockstep();
  shared_ = session.shared();
  watched_ = session.watch() != nullptr;
  // The block takes a chunk when it first needs a stamp. Many blocks need none: those of sequences without rows only
  // read inputs. What is higher than all stamps so far is lower than the block's own, whenever it takes them.
  stamp_ = session.clock().next_stamp() - 1;
  launch_floor_ = session.launch_floor();
  block_floor_ = barrier_floor_ = record::at(stamp_ + 1);
  published_.clear();
  row_floor_ = session.row_floor();
  may_start_early_ = session.may_start_early();
  has_awaited_.reset();
  awaits_.clear();
  if (has_order_) {
    of_threads_.clear();
    of_waves_.clear();
    of_block_.clear();
    has_order_ = false;
  }
}

void access_checker::record_copy(std::uintptr_t address, std::uint64_t size, access_record write) {
  for (local_area* const area : {&dynamic_, &static_}) {
    const std::uint64_t offset = address - area->low;
    if (offset >= area->size_bytes || size > area->size_bytes - offset) continue;
    const std::uint64_t first = offset / area->grain_bytes, count = size / area->grain_bytes;
    for (std::uint64_t grain = first; grain < first + count; ++grain) {
      area->writes[grain] = write;
      area->reads[grain] = 0;
    }
    return;
  }
}

void access_checker::begin_copy(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc) {
  ++copies_in_flight_;
  record_copy(address, size, record::in_flight(self.thread_bits, pc - code_start_));
}

void access_checker::land_copy(checked_thread& self, std::uintptr_t address, std::uint64_t size, std::uintptr_t pc) {
  --copies_in_flight_;
  record_copy(address, size, mine(self, pc));
}

/// Copies that an earlier block did not wait for.
void access_checker::forget_copies() {
  copies_in_flight_ = 0;
  const auto forget = [](access_record* words, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (record::is_in_flight(words[i])) words[i] = 0;
  };
  forget(dynamic_records_.data(), dynamic_records_.count());
  forget(static_records_.data(), static_records_.count());
}

std::uint32_t access_checker::next_stamp() {
  if (++stamp_ % launch_clock::stamps_per_chunk == 0) stamp_ = session_->clock().take_chunk(block_);
  return stamp_;
}

access_record access_checker::begin_interval(wave_time& time) {
  time.now = record::at(next_stamp());
  if (time.floor == 0) time.floor = time.now;
  return time.now;
}

void access_checker::pass_barrier() {
  published_.pass_barrier();
  if (may_start_early_ && has_awaited_.any()) has_awaited_.set();
  barrier_floor_ = record::at(stamp_ + 1);
  if (!has_order_) return;
  for (order_state& thread : of_threads_) of_block_.learn(thread), thread.clear();
  for (order_state& wave : of_waves_) wave.clear();  // its threads', and therefore the block's by now
}

void access_checker::await_kernel_before(checked_thread& self) {
  if (!may_start_early_) return;
  has_awaited_.set(static_cast<std::size_t>(record::thread(self.thread_bits)));
  awaits_.push_back(begin_interval(*self.time) | self.thread_bits);
  session_->note_wait();
}

bool access_checker::has_awaited(access_record now) const {
  if (has_awaited_[static_cast<std::size_t>(record::thread(now))]) return true;
  return std::ranges::any_of(awaits_, [&](access_record wait) { return is_known_past(wait, now); });
}

void access_checker::pass_awaited(int wave, std::uint64_t lanes) {
  const auto first = static_cast<std::size_t>(wave) << wave_shift_;
  bool is_any = false;
  const auto for_each = [&](auto visit) {
    for (std::size_t lane = 0; lane < std::size_t{1} << wave_shift_; ++lane)
      if ((lanes >> lane & 1) != 0) visit(first + lane);
  };
  for_each([&](std::size_t thread) { is_any |= has_awaited_[thread]; });
  if (is_any) for_each([&](std::size_t thread) { has_awaited_.set(thread); });
}

void access_checker::pass_collective(checked_thread& any_lane, std::uint64_t lanes) {
  any_lane.time->pass_collective();
  if (may_start_early_) pass_awaited(any_lane.wave, lanes);
  if (!has_order_) return;
  const auto first = static_cast<std::size_t>(any_lane.wave) << wave_shift_;
  for (std::size_t lane = 0; lane < std::size_t{1} << wave_shift_; ++lane)
    if ((lanes >> lane & 1) != 0) of_waves_[static_cast<std::size_t>(any_lane.wave)].learn(of_threads_[first + lane]);
}

bool access_checker::is_ordered_before(access_record earlier, access_record now) const {
  const std::int64_t block = session_->clock().block_of(record::stamp(earlier));
  const std::uint32_t stamp = record::stamp(earlier);
  // A record of several lanes or waves names only one thread: they must all be known to be past.
  const int thread = record::spread(earlier) == access_spread::one_thread ? record::thread(earlier) : -1;
  const int wave = record::spread(earlier) >= access_spread::waves ? -1 : record::thread(earlier) >> wave_shift_;
  const int self = record::thread(now);
  const known_past& of_wave = of_waves_[static_cast<std::size_t>(self >> wave_shift_)].past;
  return of_threads_[static_cast<std::size_t>(self)].past.holds(block, wave, thread, stamp) ||
         of_wave.holds(block, wave, thread, stamp) || of_block_.past.holds(block, wave, thread, stamp);
}

void access_checker::begin_order() {
  if (has_order_) return;
  has_order_ = true;
  of_threads_.assign(max_block_size, {});
  of_waves_.assign(max_block_size / 32, {});
}

void access_checker::learn_now(known_past& to, const checked_thread& self) const {
  const auto thread = static_cast<std::size_t>(record::thread(self.thread_bits));
  const std::int32_t wave = self.wave;
  to.learn(of_threads_[thread].past);
  to.learn(of_waves_[static_cast<std::size_t>(wave)].past);
  to.learn(of_block_.past);
  to.learn({block_, wave, static_cast<std::int32_t>(thread)}, record::stamp(self.time->now));
  to.learn({block_, wave, -1}, record::stamp(self.time->floor));
  to.learn({block_, -1, -1}, record::stamp(barrier_floor_));
}

void access_checker::pass_fence(checked_thread& self, fence_scope scope) {
  begin_order();
  begin_interval(*self.time);  // a new stamp for the thread's next access: lower stamps are what it did before
  order_state& own = of_threads_[static_cast<std::size_t>(record::thread(self.thread_bits))];
  learn_now(own.released_in_block, self);
  if (scope == fence_scope::device) own.released.learn(own.released_in_block);
}

void access_checker::begin_atomic(checked_thread& self, std::uintptr_t address, const atomic_operation& operation) {
  begin_order();
  atomic_locations& locations = session_->atomics();
  if (shared_) locations.mutex().lock();
  atomic_location& location = locations.at(address);
  order_state& own = of_threads_[static_cast<std::size_t>(record::thread(self.thread_bits))];
  if (operation.loads) {
    own.past.learn(location.released);
    if (const auto in_block = location.released_in_block.find(block_); in_block != location.released_in_block.end())
      own.past.learn(in_block->second);
  } else if (operation.stores) {
    location = {};  // what others released is not in what it stores
  }
  begin_interval(*self.time);
  if (!operation.stores) return;
  if (operation.releases) return learn_now(location.released, self);
  known_past& in_block = location.released_in_block[block_];
  for (const order_state* known : {&std::as_const(own), &std::as_const(of_waves_[static_cast<std::size_t>(self.wave)]),
                                   &std::as_const(of_block_)}) {
    location.released.learn(known->released);
    in_block.learn(known->released_in_block);
  }
}

void access_checker::end_atomic() {
  if (shared_) session_->atomics().mutex().unlock();
}

void access_checker::tell_watch(checked_thread& self, const memory_region& region, std::uint64_t offset,
                                std::uint64_t size, std::uintptr_t pc) {
  const own_accesses own(self);
  const assay_load_watch& watch = *session_->watch();
  const uint3 block = self.block->block_index;
  const auto coordinate = [](unsigned int x) { return static_cast<std::int32_t>(x); };
  const assay_load load{region.name.c_str(),
                        static_cast<std::int64_t>(offset),
                        static_cast<std::int64_t>(size),
                        // NOLINTNEXTLINE(performance-no-int-to-ptr): regions are ranges of numbers
                        reinterpret_cast<const void*>(region.low + offset),
                        {coordinate(block.x), coordinate(block.y), coordinate(block.z)},
                        self.wave,
                        self.lane};
  if (watch.wants(watch.context, &load) != 0) watch.take(watch.context, &load, source_line(pc).c_str());
}

std::int64_t access_checker::take_count() {
  return std::exchange(count_, 0);
}

}  // namespace assay::cpu
