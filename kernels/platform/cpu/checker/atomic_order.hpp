/// Order by atomics and fences. What a thread did is past for another thread once
/// - the thread released it: by a fence, or by an atomic of release order itself; and
/// - then an atomic that stores, of the thread, or of one that a barrier or collective put after the fence; and
/// - then an atomic of the other thread that loads, on the same location, with no plain atomic store in between.
/// A fence of the block's scope releases to the same block only. Whether the other thread acquires makes no
/// difference: the vendors' own examples of a last block that adds up have no fence there.
///
/// Sparse vector clocks: an entry (key, stamp) says that accesses of that thread, wave or block with lower stamps are
/// past. Empty, and nearly free, until a kernel uses atomics or fences.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace assay::cpu {

/// One thread of a block, one wave, or all of the block.
struct actor {
  std::int64_t block;
  std::int32_t wave;    ///< -1: the whole block
  std::int32_t thread;  ///< -1: the whole wave
  auto operator<=>(const actor&) const = default;
};

/// Accesses known to be past: for each actor, those with lower stamps.
class known_past {
 public:
  bool empty() const { return before_.empty(); }
  void clear() { before_.clear(); }
  void learn(const actor& who, std::uint32_t stamp) {
    std::uint32_t& known = before_[who];
    if (known < stamp) known = stamp;
  }
  void learn(const known_past& other) {
    for (const auto& [who, stamp] : other.before_) learn(who, stamp);
  }
  /// Whether the access of that thread, and with it its wave's and block's, is known to be before.
  bool holds(std::int64_t block, std::int32_t wave, std::int32_t thread, std::uint32_t stamp) const {
    for (const actor& who : {actor{block, -1, -1}, actor{block, wave, -1}, actor{block, wave, thread}})
      if (const auto known = before_.find(who); known != before_.end() && stamp < known->second) return true;
    return false;
  }

 private:
  std::map<actor, std::uint32_t> before_;
};

/// What a thread knows, and what an atomic of its would let others know. The same for a wave or a block: what all of
/// its threads know since they last met.
struct order_state {
  known_past past;
  known_past released;           ///< by fences, to all
  known_past released_in_block;  ///< by fences, to the block
  void learn(const order_state& other) {
    past.learn(other.past);
    released.learn(other.released);
    released_in_block.learn(other.released_in_block);
  }
  void clear() { past.clear(), released.clear(), released_in_block.clear(); }
};

/// What an atomic that loads a location lets its thread know.
struct atomic_location {
  known_past released;
  std::map<std::int64_t, known_past> released_in_block;
};

/// The locations on which atomics of one launch happened. Used by the checkers of all OS threads, one at a time.
class atomic_locations {
 public:
  /// Locked while an atomic takes effect, so that notes are in the order of the atomics.
  std::mutex& mutex() { return mutex_; }
  atomic_location& at(std::uintptr_t address) { return locations_[address]; }
  void clear() { locations_.clear(); }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, atomic_location> locations_;
};

}  // namespace assay::cpu
