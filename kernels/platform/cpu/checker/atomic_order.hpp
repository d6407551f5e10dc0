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

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace assay::cpu {

/// One thread of a block, one wave, or all of the block.
struct actor {
  std::int64_t block;
  std::int32_t wave;    ///< -1: the whole block
  std::int32_t thread;  ///< -1: the whole wave
  auto operator<=>(const actor&) const = default;
};

/// Accesses known to be past: for each actor, those with lower stamps. What is known of a wave or a block is not kept
/// for its threads and waves again.
class known_past {
 public:
  bool empty() const { return before_.empty(); }
  void clear() {
    before_.clear();
    learned_.clear();
    version_ = next_version();
  }
  void learn(const actor& who, std::uint32_t stamp) {
    const entry one{who, stamp};
    take({&one, 1});
  }
  /// Loops that wait for an atomic learn the same again and again: what has not changed since is known.
  void learn(const known_past& other) {
    if (other.empty()) return;
    std::uint64_t& learned = learned_[&other];
    if (std::exchange(learned, other.version_) != other.version_) take(other.before_);
  }
  /// Whether the access of that thread, and with it its wave's and block's, is known to be before.
  bool holds(std::int64_t block, std::int32_t wave, std::int32_t thread, std::uint32_t stamp) const {
    for (const actor& who : {actor{block, -1, -1}, actor{block, wave, -1}, actor{block, wave, thread}})
      if (const auto known = std::ranges::lower_bound(before_, who, {}, &entry::who);
          known != before_.end() && known->who == who && stamp < known->stamp)
        return true;
    return false;
  }

 private:
  struct entry {
    actor who;
    std::uint32_t stamp;
    bool operator==(const entry&) const = default;
  };

  /// No two changes have the same, be they of one object or of two that lie at one address in turn.
  static std::uint64_t next_version() {
    static std::atomic<std::uint64_t> versions{0};
    return ++versions;
  }

  /// `more` is in order, too: a block stands before its waves, and a wave before its threads.
  void take(std::span<const entry> more) {
    std::vector<entry> all;
    all.reserve(before_.size() + more.size());
    entry block{{-1, -1, -1}, 0}, wave = block;
    const auto add = [&](const entry& one) {
      const bool is_in_block = one.who.block == block.who.block && one.stamp <= block.stamp;
      const bool is_in_wave =
          one.who.block == wave.who.block && one.who.wave == wave.who.wave && one.stamp <= wave.stamp;
      if (is_in_block || is_in_wave) return;
      all.push_back(one);
      if (one.who.wave < 0) block = one;
      if (one.who.thread < 0) wave = one;
    };
    for (auto own = before_.begin(); own != before_.end() || !more.empty();) {
      if (more.empty() || (own != before_.end() && own->who < more.front().who)) {
        add(*own++);
      } else {
        entry one = more.front();
        more = more.subspan(1);
        if (own != before_.end() && own->who == one.who) one.stamp = std::max(one.stamp, (own++)->stamp);
        add(one);
      }
    }
    if (all == before_) return;
    before_ = std::move(all);
    version_ = next_version();
  }

  std::vector<entry> before_;  ///< in order
  std::uint64_t version_ = 0;
  std::map<const known_past*, std::uint64_t> learned_;  ///< versions
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
