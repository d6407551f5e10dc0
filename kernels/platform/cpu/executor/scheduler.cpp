#include "kernels/platform/cpu/executor/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace assay::cpu {
namespace {

// A wave that polls for another's store must not starve it, which strict priorities would do. Until the other one has
// its turn, each wave of a higher priority polls so often, and each poll is a stamp of the checker's clock.
constexpr std::uint32_t max_idle_turns = 32;

}  // namespace

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): any seed will do, and one word of state.
std::uint64_t scheduler::random() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

void scheduler::start(assay_schedule_kind kind, std::uint64_t seed, int depth, int num_waves,
                      const std::uint64_t* alive) {
  kind_ = kind;
  num_waves_ = num_waves;
  state_ = seed;
  num_changes_ = 0;
  if (kind == ASSAY_PCT) {
    for (int w = 0; w < num_waves; ++w) by_priority_[w] = w;
    for (int w = num_waves - 1; w > 0; --w)
      std::swap(by_priority_[w], by_priority_[random() % static_cast<std::uint64_t>(w + 1)]);
    num_changes_ = std::clamp(depth, 0, max_change_points);
    for (int i = 0; i < num_changes_; ++i) {
      const std::uint64_t octave = std::uint64_t{1} << (random() >> 60);
      change_points_[i] = static_cast<std::uint32_t>(octave + random() % octave);
    }
    std::sort(change_points_, change_points_ + num_changes_);
  }
  changes_done_ = 0;
  steps_ = 0;
  idle_turns_ = 0;
  wake_all(alive);
}

void scheduler::begin_round() {
  wave_ = kind_ == ASSAY_REVERSE ? num_waves_ : -1;
  turn_ = 0;
}

void scheduler::wake_all(const std::uint64_t* alive) {
  ready_waves_ = 0;
  for (int w = 0; w < num_waves_; ++w) {
    ready_[w] = alive[w];
    if (alive[w] != 0) ready_waves_ |= std::uint64_t{1} << w;
  }
  idle_turns_ = 0;
  begin_round();
}

int scheduler::choose_wave() {
  switch (kind_) {
    case ASSAY_ROUND_ROBIN: break;
    case ASSAY_REVERSE: {
      const std::uint64_t below = ready_waves_ & ((std::uint64_t{1} << wave_) - 1);
      return 63 - std::countl_zero(below != 0 ? below : ready_waves_);
    }
    case ASSAY_RANDOM: {
      std::uint64_t candidates = ready_waves_;
      for (std::uint64_t skip = random() % static_cast<std::uint64_t>(std::popcount(candidates)); skip > 0; --skip)
        candidates &= candidates - 1;
      return std::countr_zero(candidates);
    }
    case ASSAY_PCT:
      for (int rank = 0; rank < num_waves_; ++rank)
        if ((ready_waves_ >> by_priority_[rank] & 1) != 0) return by_priority_[rank];
      break;
  }
  const std::uint64_t above = ready_waves_ & ~((std::uint64_t{1} << (wave_ + 1)) - 1);
  return std::countr_zero(above != 0 ? above : ready_waves_);
}

void scheduler::demote(int wave) {
  std::int32_t* const end = by_priority_ + num_waves_;
  std::int32_t* const place = std::find(by_priority_, end, wave);
  std::rotate(place, place + 1, end);
}

bool scheduler::step_changes_priorities() {
  ++steps_;
  if (changes_done_ == num_changes_ || steps_ < change_points_[changes_done_]) return false;
  ++changes_done_;
  demote(wave_);
  return true;
}

void scheduler::yield() {
  if (kind_ == ASSAY_RANDOM) {
    turn_ = 0;
  } else if (kind_ == ASSAY_PCT) {
    bool changed = step_changes_priorities();
    if (turn_ == 0 && ++idle_turns_ >= max_idle_turns) {
      idle_turns_ = 0;
      demote(wave_);
      changed = true;
    }
    if (changed) turn_ = 0;
  }
}

bool scheduler::preempts() {
  idle_turns_ = 0;
  if (kind_ == ASSAY_PCT ? !step_changes_priorities() : kind_ != ASSAY_RANDOM) return false;
  const int wave = choose_wave();
  if (wave == wave_) return false;
  begin_turn(wave);
  return true;
}

}  // namespace assay::cpu
