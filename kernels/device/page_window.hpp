/// Page ids of a wave's next runs of keys, in LDS. They come a window ahead of their use: a load of an id would wait
/// behind the keys that are on their way, and the next keys for it.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/key_groups.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

/// Entries of a window. In LDS lie two: that of the groups which are issued now, and the next one.
inline constexpr int page_window_entries = 16;
inline constexpr int page_window_bytes = 2 * page_window_entries * static_cast<int>(sizeof(std::int32_t));

/// Crew: a wave's. Its groups are counted from 0 in the order in which it takes them: turns.
template <class Crew>
class page_window {
 public:
  static constexpr int runs = Crew::group_keys / Crew::run_keys;     ///< of a group
  static constexpr unsigned int turns = page_window_entries / runs;  ///< of a window

  /// ids: of page_window_bytes in LDS, aligned to an entry.
  __device__ explicit page_window(unsigned char* ids)
      : ids_(reinterpret_cast<std::int32_t*>(ids)), place_(platform::place_in_lds(ids)) {}

  /// Asks for the first window.
  __device__ void request(const group_range& range) {
    const std::int32_t group = group_of_entry(range, 0);
    if (owns_entry() && group < range.last) first_ = *entry(range, group);
  }

  /// Puts the first window where all lanes find it.
  __device__ void start() const {
    if (owns_entry()) ids_[Crew::member()] = first_;
    Crew::fence();
  }

  /// Before the copies of a turn, which these belong to: starts the next window, if the turn is the first one of its
  /// own. What they overwrite was read last in the turn before, and between two turns is a fence of the crew; but not
  /// where a ring starts, whose first groups are to be of one window. A ring waits for a turn's copies before it issues
  /// the turn that is its number of slots later: windows have as many turns, or more, as its static_assert demands.
  __device__ void look_ahead(const group_range& range, unsigned int turn) const {
    if (turn % turns != 0 || !owns_entry()) return;
    const std::int32_t group = group_of_entry(range, turn + turns);
    const bool exists = group < range.last;
    platform::begin_copy<4>(place_ + place_of(turn + turns) * 4 + Crew::member() * 4,
                            entry(range, exists ? group : range.last - 1), exists);
  }

  __device__ std::int32_t id(unsigned int turn, int run) const {
    return ids_[place_of(turn) + static_cast<int>(turn % turns) * runs + run];
  }

 private:
  static_assert(Crew::least_members >= page_window_entries && page_window_entries % runs == 0);
  __device__ static bool owns_entry() { return Crew::member() < page_window_entries; }
  __device__ static int place_of(unsigned int turn) { return static_cast<int>(turn / turns % 2) * page_window_entries; }
  /// The group of the lane's entry in the window that begins with a turn: at most 2^27 and some windows.
  __device__ static std::int32_t group_of_entry(const group_range& range, unsigned int turn) {
    return range.first + (static_cast<int>(turn) + Crew::member() / runs) * range.step;
  }
  /// A page without live keys may have no entry that may be read: then the nearest one that has.
  __device__ static const std::int32_t* entry(const group_range& range, std::int32_t group) {
    const std::int32_t key = group * Crew::group_keys + Crew::member() % runs * Crew::run_keys;
    return range.pages.entry_of(min_of(max_of(key, range.live.first), range.live.last - 1));
  }

  std::int32_t* ids_;
  platform::lds_place place_;
  std::int32_t first_ = 0;
};

/// Of a crew without one.
struct no_window {
  __device__ explicit no_window(unsigned char* /*ids*/) {}
};

}  // namespace assay::device
