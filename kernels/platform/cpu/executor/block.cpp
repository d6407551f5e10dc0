#include "kernels/platform/cpu/executor/block.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace assay::cpu {
namespace {

// Steps of a block (10 ms) without progress before it counts as deadlocked. A polling thread yields each time, and no
// schedule starves a wave, so anything that it could wait for happens long before.
constexpr std::uint64_t max_idle_steps = std::uint64_t{1} << 20;
// The same for threads that change memory while they wait, for instance with atomicAdd(p, 1).
constexpr std::uint64_t max_busy_steps = std::uint64_t{1} << 26;

constexpr std::uint64_t lane_bit(int lane) {
  return std::uint64_t{1} << lane;
}

}  // namespace

thread_local constinit const thread_coordinates* this_thread = nullptr;

block_runner::block_runner()
    : stacks_(max_block_size),
      static_lds_(own_static_lds()),
      checker_(&leave_for_illegal_access),
      thread_memory_(max_block_size * sizeof(gpu_thread)),
      threads_(reinterpret_cast<gpu_thread*>(thread_memory_.data()), max_block_size),
      waves_(std::make_unique<wave_state[]>(max_waves)) {
  static_assert(std::is_trivially_destructible_v<gpu_thread>);
  std::uninitialized_value_construct(threads_.begin(), threads_.end());
  checker_.exempt(threads_.data(), threads_.size_bytes());
}

block_runner& block_runner::of_this_thread() {
  static thread_local block_runner runner;
  return runner;
}

void block_runner::leave_for_illegal_access(checked_thread& self) {
  static_cast<gpu_thread&>(self).runner->end(ending::illegal_access);
}

void block_runner::report_outside(const char* operation) {
  throw std::logic_error(std::string(operation) + " outside of a kernel");
}

void block_runner::set_up_threads(const launch_plan& plan) {
  const dim3 block = plan.grid->block;
  const int wave_size = plan.parameters.wave_size;
  const dim3 last = coordinates_.block_dim;
  const bool same_shape = num_threads_ != 0 && coordinates_.wave_size == wave_size && last.x == block.x &&
                          last.y == block.y && last.z == block.z;
  coordinates_.grid_dim = plan.grid->grid;
  coordinates_.block_dim = block;
  coordinates_.wave_size = wave_size;
  num_threads_ = static_cast<int>(block.x * block.y * block.z);
  num_waves_ = (num_threads_ + wave_size - 1) / wave_size;
  for (; started_fibers_ < num_threads_; ++started_fibers_)
    stacks_.start(threads_[static_cast<std::size_t>(started_fibers_)].context, started_fibers_, &thread_main);
  if (same_shape) return set_up_checks(plan);
  for (int w = 0; w < num_waves_; ++w) initial_[w] = 0;
  for (int i = 0; i < num_threads_; ++i) {
    gpu_thread& t = threads_[static_cast<std::size_t>(i)];
    const auto u = static_cast<unsigned int>(i);
    t.thread_index = {u % block.x, u / block.x % block.y, u / (block.x * block.y)};
    t.block = &coordinates_;
    t.wave = i / wave_size;
    t.lane = i % wave_size;
    t.wave_interval = &waves_[static_cast<std::size_t>(t.wave)].interval;
    t.runner = this;
    t.stack_low = stacks_.low(i);
    t.stack = own_stack_flag(t.stack_low);
    t.stack_bytes = stacks_.size_bytes();
    t.thread_bits = static_cast<access_record>(i) << record::thread_shift;
    t.time = &waves_[static_cast<std::size_t>(t.wave)].time;
    t.checker = nullptr;
    initial_[t.wave] |= lane_bit(t.lane);
  }
  checks_ = false;
  set_up_checks(plan);
}

void block_runner::set_up_checks(const launch_plan& plan) {
  if (checks_ == (plan.session != nullptr)) return;
  checks_ = plan.session != nullptr;
  give_checkers();
}

void block_runner::give_checkers() {
  for (int i = 0; i < num_threads_; ++i) threads_[static_cast<std::size_t>(i)].checker = checks_ ? &checker_ : nullptr;
}

std::optional<failure> block_runner::run(const launch_plan& plan, std::int64_t block_index, neighbours& others) {
  set_up_threads(plan);
  const dim3 grid = plan.grid->grid;
  const auto linear = static_cast<std::uint64_t>(block_index);
  coordinates_.block_index = {static_cast<unsigned int>(linear % grid.x),
                              static_cast<unsigned int>(linear / grid.x % grid.y),
                              static_cast<unsigned int>(linear / grid.x / grid.y)};
  coordinates_.barrier_interval = 0;
  ++coordinates_.number;
  plan_ = &plan;
  others_ = &others;
  block_index_ = block_index;
  lds_.prepare(plan.grid->shared_bytes);
  if (!static_lds_.empty()) std::memset(static_lds_.data(), 0xFF, static_lds_.size());
  for (int w = 0; w < num_waves_; ++w) {
    alive_[w] = initial_[w];
    waves_[static_cast<std::size_t>(w)].interval = 0;
    waves_[static_cast<std::size_t>(w)].time.pass_collective();
    waves_[static_cast<std::size_t>(w)].num_collectives = 0;
    waves_[static_cast<std::size_t>(w)].records.size = coordinates_.wave_size;
  }
  if (checks_)
    checker_.begin_block(*plan.session, coordinates_, block_index, reinterpret_cast<std::uintptr_t>(lds_.data()),
                         plan.grid->shared_bytes);
  num_alive_ = num_threads_;
  barrier_arrived_ = 0;
  barrier_diverged_ = false;
  barrier_votes_ = 0;
  idle_steps_ = 0;
  busy_steps_ = 0;
  ending_ = ending::complete;
  // The golden ratio's bits spread neighbouring blocks over the seeds.
  const std::uint64_t seed = plan.seed ^ (linear + 1) * 0x9E3779B97F4A7C15;
  schedule_.start(static_cast<assay_schedule_kind>(plan.parameters.schedule), seed, plan.parameters.depth, num_waves_,
                  alive_);
  const choice first = schedule_.next();
  gpu_thread& t = thread(first.wave, first.lane);
  this_thread = &t;
  t.stack.enter();
  switch_fiber(home_, t.context);
  running().stack.leave();
  this_thread = nullptr;
  if (ending_ != ending::complete) {
    started_fibers_ = 0;  // threads stopped anywhere: restart all fibers
    give_checkers();      // one stopped in a collective's operation, which has none
  }
  return outcome();
}

std::optional<failure> block_runner::outcome() {
  switch (ending_) {
    case ending::complete:
      if (std::optional<found_defect> found = diagnose_lds()) return failure{std::move(found), nullptr};
      return std::nullopt;
    case ending::thrown: return failure{std::nullopt, std::exchange(thrown_, nullptr)};
    case ending::stuck: return failure{diagnose_stuck(), nullptr};
    case ending::waited_in_vain: return failure{diagnose_waiting_in_vain(), nullptr};
    case ending::outside_own_mask: return failure{diagnose_outside_own_mask(), nullptr};
    case ending::absent_source: return failure{diagnose_absent_source(), nullptr};
    case ending::illegal_access: {
      const access_defect& found = *checker_.fatal();
      return failure{defect(found.kind, found.message, found.wave, found.lane), nullptr};
    }
    case ending::needless: break;
  }
  return failure{};
}

// Never returns: when a thread has left the kernel its fiber waits in exit_thread and starts over with the next block.
void block_runner::thread_main(boost::context::detail::transfer_t from) {
  note_arrival(from);
#if ASSAY_ASAN
  __asan_handle_no_return();  // releases the fake frames of the thread that was abandoned on this stack
#endif
  gpu_thread& self = running();
  block_runner& runner = *self.runner;
  for (;;) {
    bool thrown = false;
    try {
      runner.plan_->grid->call(runner.plan_->grid->closure);
    } catch (...) {
      runner.thrown_ = std::current_exception();
      thrown = true;
    }
    if (thrown) runner.end(ending::thrown);  // not in the handler, which has to end before the fiber is left for good
    runner.exit_thread(self);
  }
}

void block_runner::end(ending how) {
  ending_ = how;
  gpu_thread& self = running();
  last_running_ = &self;
  switch_fiber(self.context, home_);
  __builtin_unreachable();
}

void block_runner::end_for_absent_source(int lane, int source) {
  reader_lane_ = lane;
  source_lane_ = source;
  end(ending::absent_source);
}

hand_over block_runner::resume(gpu_thread& self, choice next) {
  gpu_thread& to = thread(next.wave, next.lane);
  if (&to == &self) return {};
  this_thread = &to;
  self.stack.leave();
  to.stack.enter();
  return {&self.context, &to.context};
}

hand_over block_runner::go_on(gpu_thread& self) {
  const choice next = schedule_.next();
  if (!next) end(ending::stuck);
  return resume(self, next);
}

hand_over block_runner::barrier(const meeting_place& place, bool vote) {
  gpu_thread& self = running();
  if (barrier_arrived_ == 0) {
    barrier_ = place;
  } else if (!barrier_diverged_ && !(place == barrier_)) {
    barrier_diverged_ = true;
  }
  self.place = place;
  barrier_votes_ += vote ? 1 : 0;
  if (++barrier_arrived_ == num_threads_ && !barrier_diverged_) {
    coordinates_.votes = barrier_votes_;  // all threads read it before the next barrier can complete
    barrier_votes_ = 0;
    barrier_arrived_ = 0;
    ++coordinates_.barrier_interval;
    if (checks_) {
      checker_.pass_barrier();
      for (int w = 0; w < num_waves_; ++w) waves_[static_cast<std::size_t>(w)].time.pass_collective();
    }
    idle_steps_ = 0;
    busy_steps_ = 0;
    schedule_.wake_all(alive_);
  } else {
    schedule_.park(self.wave, self.lane);
  }
  return go_on(self);
}

hand_over block_runner::rendezvous(const meeting_place& place, std::uint64_t mask, void* record,
                                   wave_operation operate) {
  gpu_thread& self = running();
  const int w = self.wave;
  wave_state& wave = waves_[static_cast<std::size_t>(w)];
  const std::uint64_t own = lane_bit(self.lane);
  self.place = place;
  if ((mask & own) == 0) end(ending::outside_own_mask);
  int index = 0;
  while (index < wave.num_collectives &&
         !(wave.collectives[index].mask == mask && wave.collectives[index].place == place))
    ++index;
  collective& meeting = wave.collectives[index];
  if (index == wave.num_collectives) {
    meeting = {place, mask, 0, operate};
    ++wave.num_collectives;
  }
  wave.records.lane[self.lane] = record;
  meeting.arrived |= own;
  if (meeting.arrived == (mask & alive_[w])) {
    complete(wave, w, index, own);
    return schedule_.preempts() ? resume(self, schedule_.next()) : hand_over{};
  }
  schedule_.park(w, self.lane);
  return go_on(self);
}

hand_over block_runner::yield(const meeting_place& place) {
  gpu_thread& self = running();
  self.place = place;
  ++busy_steps_;
  if (++idle_steps_ >= max_idle_steps || busy_steps_ >= max_busy_steps) {
    switch (others_->ask(block_index_)) {
      case neighbours::advice::keep_waiting: break;
      case neighbours::advice::give_up: end(ending::waited_in_vain);
      case neighbours::advice::abandon: end(ending::needless);
    }
    idle_steps_ = 0;
    busy_steps_ = 0;
  }
  schedule_.yield();
  return go_on(self);
}

void block_runner::exit_thread(gpu_thread& self) {
  const int w = self.wave;
  wave_state& wave = waves_[static_cast<std::size_t>(w)];
  alive_[w] &= ~lane_bit(self.lane);
  --num_alive_;
  idle_steps_ = 0;
  busy_steps_ = 0;
  schedule_.park(w, self.lane);
  for (int i = wave.num_collectives; i-- > 0;) {
    const collective& c = wave.collectives[i];
    if (c.arrived == (c.mask & alive_[w])) complete(wave, w, i, 0);
  }
  if (num_alive_ == 0) {
    switch_fiber(self.context, home_);
  } else {
    follow(go_on(self));
  }
}

void block_runner::complete(wave_state& wave, int wave_index, int index, std::uint64_t still_running) {
  const collective done = wave.collectives[index];
  wave.collectives[index] = wave.collectives[--wave.num_collectives];
  if (done.arrived == alive_[wave_index]) {
    ++wave.interval;
    if (checks_) checker_.pass_collective(running(), done.arrived);
  }
  idle_steps_ = 0;
  busy_steps_ = 0;
  if (done.operate != nullptr) {
    operating_mask_ = done.mask;
    access_checker* const checker = std::exchange(running().checker, nullptr);  // not the kernel's own accesses
    if (done.arrived == all_lanes()) {
      done.operate(wave.records);
    } else {
      wave_records present{};
      present.size = wave.records.size;
      for (int lane = 0; lane < present.size; ++lane)
        if ((done.arrived & lane_bit(lane)) != 0) present.lane[lane] = wave.records.lane[lane];
      done.operate(present);
    }
    running().checker = checker;
  }
  schedule_.wake(wave_index, done.arrived & ~still_running);
}

}  // namespace assay::cpu
