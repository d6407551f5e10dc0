/// Chooses the thread of a block that runs next. Threads are grouped in waves: a wave gets a turn in which each of its
/// ready lanes runs up to its next scheduling point, then the schedule chooses a wave again.
///
/// - round_robin: waves in cyclic order, lanes ascending. A wave keeps running through its collectives until it has to
///   wait.
/// - reverse: the same, descending.
/// - random: after each collective and each atomic any ready wave is equally likely; lanes from a random one upwards.
/// - pct: waves have random priorities and the highest ready one runs; at `depth` random steps the running wave falls
///   to the lowest priority. A bug that needs d ordering constraints is found with probability of at least
///   1 / (n k^(d-1)) for n waves and k steps (Burckhardt et al., ASPLOS 2010), up to a factor of log k: k is unknown
///   here, so the steps are drawn log-uniformly below 2^16. A wave that met no other for long falls, too: it may poll.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/library.h"
#include "kernels/platform/cpu/base/thread.hpp"

namespace assay::cpu {

inline constexpr int max_waves = max_block_size / 32;
inline constexpr int max_change_points = 64;

/// A thread of the block, or none if no thread is ready.
struct choice {
  std::int32_t wave = -1;
  std::int32_t lane = -1;
  explicit operator bool() const { return wave >= 0; }
};

class scheduler {
 public:
  /// All lanes of `alive[0 .. num_waves)` become ready. The choices depend on the arguments only.
  void start(assay_schedule_kind kind, std::uint64_t seed, int depth, int num_waves, const std::uint64_t* alive);

  /// The running lane waits (or has left) until it is woken.
  void park(int wave, int lane) {
    ready_[wave] &= ~(std::uint64_t{1} << lane);
    if (ready_[wave] == 0) ready_waves_ &= ~(std::uint64_t{1} << wave);
  }

  /// Lanes of the running wave become ready.
  void wake(int wave, std::uint64_t lanes) {
    if (lanes == 0) return;
    ready_[wave] |= lanes;
    ready_waves_ |= std::uint64_t{1} << wave;
    if (wave == wave_) turn_ |= lanes;
  }

  /// All threads passed a barrier: restarts the schedule, with the running thread as one of them.
  void wake_all(const std::uint64_t* alive);

  /// The running lane lets others go first. Call next() after it.
  void yield();

  /// After a collective, which the running lane completed: whether it must let another wave run. If so call next().
  bool preempts();

  /// The ready thread that runs next; removes it from the turn's queue.
  choice next() {
    if (turn_ == 0) {
      if (ready_waves_ == 0) return {};
      begin_turn(choose_wave());
    }
    const int lane = choose_lane();
    turn_ &= ~(std::uint64_t{1} << lane);
    return {wave_, lane};
  }

  bool is_ready(int wave, int lane) const { return (ready_[wave] >> lane & 1) != 0; }

 private:
  int choose_wave();
  int choose_lane() {
    switch (kind_) {
      case ASSAY_ROUND_ROBIN: break;
      case ASSAY_REVERSE: return (63 - std::countl_zero(turn_)) & 63;
      case ASSAY_RANDOM:
      case ASSAY_PCT: {
        const int first = static_cast<int>(random() >> 58);
        return (std::countr_zero(std::rotr(turn_, first)) + first) & 63;
      }
    }
    return std::countr_zero(turn_);
  }
  void begin_turn(int wave) {
    wave_ = wave;
    turn_ = ready_[wave];
  }
  void begin_round();
  std::uint64_t random();
  bool step_changes_priorities();
  void demote(int wave);

  assay_schedule_kind kind_ = ASSAY_ROUND_ROBIN;
  int num_waves_ = 0;
  int wave_ = -1;           // the running one; -1 or num_waves_ before the first turn of a round
  std::uint64_t turn_ = 0;  // lanes that still run in this turn
  std::uint64_t ready_waves_ = 0;
  std::uint64_t ready_[max_waves] = {};
  std::uint64_t state_ = 0;
  // pct
  std::int32_t by_priority_[max_waves] = {};             // waves, highest priority first
  std::uint32_t change_points_[max_change_points] = {};  // ascending steps
  int num_changes_ = 0;
  int changes_done_ = 0;
  std::uint32_t steps_ = 0;
  std::uint32_t idle_turns_ = 0;
};

}  // namespace assay::cpu
