/// What the threads of a block published of their stores to LDS, to units that read it themselves. On NVIDIA's GPUs
/// such reads are of another proxy than the threads' accesses: no barrier orders them after a store, but a fence
/// between the two proxies (fence.proxy.async) that stands between them, be it the storing thread's, the reading
/// thread's or another one's (PTX ISA, "Proxy-preserved base causality order": a fence along the path of
/// synchronisation).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/platform/cpu/checker/access_record.hpp"

namespace assay::cpu {

/// A fence of a thread, and what was before it, whichever thread stored it.
struct proxy_fence {
  access_record at = 0;             ///< its own record: newer than those of its thread's stores before it
  access_record barrier_floor = 0;  ///< older records of the block are before it
  access_record wave_floor = 0;     ///< ... of its wave
};

class published_stores {
 public:
  void clear() {
    of_threads_.clear();
    pending_ = covered_ = 0;
  }
  void add(const proxy_fence& fence) {
    const auto thread = static_cast<std::size_t>(record::thread(fence.at));
    if (of_threads_.size() <= thread) of_threads_.resize(thread + 1);
    std::vector<proxy_fence>& own = of_threads_[thread];
    if (own.size() >= most_kept) {  // of those before the barrier the last one says all
      const auto newer = std::ranges::lower_bound(own, fence.barrier_floor, {}, &proxy_fence::at);
      if (newer - own.begin() > 1) own.erase(own.begin(), newer - 1);
    }
    own.push_back(fence);
    pending_ = std::max(pending_, fence.barrier_floor);
  }
  /// All threads of the block met: what was before a fence is now published to all of them.
  void pass_barrier() { covered_ = pending_; }

  /// Whether a fence stands between a store and the read of `reader`. is_before(fence): whether the fence's thread did
  /// it before the read. in_wave(a, b): whether two records are of one wave.
  ///
  /// Of the reader's own fences one that came later than the store in this run is enough: whether the reader waited for
  /// the store before its fence or behind it is not known, and may hide a lack on some schedules.
  template <class IsBefore, class InWave>
  bool hold(access_record store, access_record reader, IsBefore is_before, InWave in_wave) const {
    if (store < covered_) return true;
    // Of the storing thread; later fences are before the read only if the first one is.
    if (const std::vector<proxy_fence>* const own = find(store); own != nullptr) {
      const auto first = std::ranges::upper_bound(*own, record::stamp(store), {}, stamp_of);
      if (first != own->end() && is_before(first->at)) return true;
    }
    if (const std::vector<proxy_fence>* const own = find(reader); own != nullptr && !own->empty())
      if (record::stamp(own->back().at) > record::stamp(store)) return true;
    return std::ranges::any_of(of_threads_, [&](const std::vector<proxy_fence>& of_other) {
      return std::ranges::any_of(of_other, [&](const proxy_fence& fence) {
        const bool is_behind = store < fence.barrier_floor || (store < fence.wave_floor && in_wave(store, fence.at));
        return is_behind && is_before(fence.at);
      });
    });
  }

 private:
  static constexpr std::size_t most_kept = 16;
  static std::uint32_t stamp_of(const proxy_fence& fence) { return record::stamp(fence.at); }

  const std::vector<proxy_fence>* find(access_record of) const {
    const auto thread = static_cast<std::size_t>(record::thread(of));
    return thread < of_threads_.size() ? &of_threads_[thread] : nullptr;
  }

  std::vector<std::vector<proxy_fence>> of_threads_;  ///< of each in order
  access_record pending_ = 0;                         ///< older stores are before some fence
  access_record covered_ = 0;                         ///< ... and a barrier ended since
};

}  // namespace assay::cpu
