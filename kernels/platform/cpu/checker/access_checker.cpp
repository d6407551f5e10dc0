#include "kernels/platform/cpu/checker/access_checker.hpp"

#include <bit>
#include <utility>

#include "kernels/platform/cpu/checker/module_image.hpp"
#include "kernels/platform/cpu/checker/source_line.hpp"

namespace assay::cpu {
namespace {

const memory_region nowhere;

}  // namespace

access_checker::access_checker(void (*leave_block)(checked_thread& self))
    : leave_block_(leave_block), code_start_(code_start()) {
  last_regions_.fill(&nowhere);
  const thread_local_image own = own_thread_locals();
  static_locations_ = mapped_array<location_record>(own.size_bytes);
  static_ = {own.low, own.size_bytes, static_locations_.data(), "static __shared__ memory,"};
}

void access_checker::begin_block(launch_session& session, const block_coordinates& coordinates, std::int64_t block,
                                 std::uintptr_t lds_low, std::uint64_t lds_bytes) {
  if (session.clock().era() != era_) {
    era_ = session.clock().era();
    static_locations_.clear();
    dynamic_locations_.clear();
  }
  if (session.launches() != launch_) {
    launch_ = session.launches();
    defects_.clear();
    reported_.clear();
    last_regions_.fill(&nowhere);
  }
  if (dynamic_locations_.count() < lds_bytes) dynamic_locations_ = mapped_array<location_record>(lds_bytes);
  dynamic_ = {lds_low, lds_bytes, dynamic_locations_.data(), "LDS"};
  session_ = &session;
  block_ = block;
  fatal_.reset();
  wave_shift_ = std::countr_zero(static_cast<unsigned int>(coordinates.wave_size));
  lockstep_ = session.lockstep();
  shared_ = session.shared();
  // The block takes a chunk when it first needs a stamp. Many blocks need none: those of sequences without rows only
  // read inputs. What is higher than all stamps so far is lower than the block's own, whenever it takes them.
  stamp_ = session.clock().next_stamp() - 1;
  launch_floor_ = session.launch_floor();
  block_floor_ = barrier_floor_ = record::at(stamp_ + 1);
  if (uses_atomics_) {
    thread_pasts_.clear();
    wave_pasts_.clear();
    block_past_.clear();
    uses_atomics_ = false;
  }
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
  barrier_floor_ = record::at(stamp_ + 1);
  for (const known_past& past : thread_pasts_) block_past_.learn(past);
}

void access_checker::pass_collective(checked_thread& any_lane, std::uint64_t lanes) {
  any_lane.time->pass_collective();
  if (!uses_atomics_) return;
  const auto first = static_cast<std::size_t>(any_lane.wave) << wave_shift_;
  for (std::size_t lane = 0; lane < std::size_t{1} << wave_shift_; ++lane)
    if ((lanes >> lane & 1) != 0)
      wave_pasts_[static_cast<std::size_t>(any_lane.wave)].learn(thread_pasts_[first + lane]);
}

bool access_checker::is_known_past(access_record earlier, access_record now) const {
  if (!uses_atomics_) return false;
  const std::int64_t block = session_->clock().block_of(record::stamp(earlier));
  const std::uint32_t stamp = record::stamp(earlier);
  // A record of several lanes or waves names only one thread: they must all be known to be past.
  const int thread = record::spread(earlier) == access_spread::one_thread ? record::thread(earlier) : -1;
  const int wave = record::spread(earlier) >= access_spread::waves ? -1 : record::thread(earlier) >> wave_shift_;
  const int self = record::thread(now);
  const known_past& of_wave = wave_pasts_[static_cast<std::size_t>(self >> wave_shift_)];
  return thread_pasts_[static_cast<std::size_t>(self)].holds(block, wave, thread, stamp) ||
         of_wave.holds(block, wave, thread, stamp) || block_past_.holds(block, wave, thread, stamp);
}

void access_checker::begin_atomic(checked_thread& self, std::uintptr_t address) {
  if (!uses_atomics_) {
    uses_atomics_ = true;
    thread_pasts_.assign(max_block_size, {});
    wave_pasts_.assign(max_block_size / 32, {});
  }
  atomic_locations& locations = session_->atomics();
  if (shared_) locations.mutex().lock();
  known_past& location = locations.at(address);
  const auto thread = static_cast<std::size_t>(record::thread(self.thread_bits));
  known_past& own = thread_pasts_[thread];
  own.learn(location);
  // A new stamp for the thread's next access: lower stamps are what it did before.
  begin_interval(*self.time);
  const auto wave = static_cast<std::int32_t>(self.wave);
  location.learn(own);
  location.learn(wave_pasts_[static_cast<std::size_t>(wave)]);
  location.learn(block_past_);
  location.learn({block_, wave, static_cast<std::int32_t>(thread)}, record::stamp(self.time->now));
  location.learn({block_, wave, -1}, record::stamp(self.time->floor));
  location.learn({block_, -1, -1}, record::stamp(barrier_floor_));
}

void access_checker::end_atomic() {
  if (shared_) session_->atomics().mutex().unlock();
}

std::int64_t access_checker::take_count() {
  return std::exchange(count_, 0);
}

}  // namespace assay::cpu
