/// Order by atomics: all that a thread did before an atomic precedes all that another thread does after a later atomic
/// on the same location. Sparse vector clocks: an entry (key, stamp) says that accesses of that thread, wave or block
/// with lower stamps are past. Empty, and nearly free, until a kernel uses atomics.
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

/// The locations on which atomics of one launch happened. Used by the checkers of all OS threads, one at a time.
class atomic_locations {
 public:
  /// Locked while an atomic takes effect, so that notes are in the order of the atomics.
  std::mutex& mutex() { return mutex_; }
  known_past& at(std::uintptr_t address) { return locations_[address]; }
  void clear() { locations_.clear(); }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, known_past> locations_;
};

}  // namespace assay::cpu
