/// What the threads of a block published of their stores to LDS, to units that read it themselves. On NVIDIA's GPUs
/// such reads are of another proxy than the threads' accesses: no barrier orders them after a store, but a fence
/// between the two proxies (fence.proxy.async) that stands between them, be it the storing thread's, the reading
/// thread's or another one's (PTX ISA, "Causality order": an alias fence along the path of synchronisation).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/platform/cpu/checker/access_record.hpp"

namespace assay::cpu {

class published_stores {
 public:
  void clear() {
    of_threads_.clear();
    pending_ = covered_ = 0;
  }
  /// A fence: its own record, newer than those of all stores of its thread before it. Stores older than `barrier_floor`
  /// happened before it, those of other threads, too.
  void add(access_record fence, access_record barrier_floor) {
    const auto thread = static_cast<std::size_t>(record::thread(fence));
    if (of_threads_.size() <= thread) of_threads_.resize(thread + 1);
    fences& own = of_threads_[thread];
    own.behind = barrier_floor;
    if (own.all.size() >= most_kept) {  // of those before the barrier the last one says all
      const auto newer = std::ranges::lower_bound(own.all, barrier_floor);
      if (newer - own.all.begin() > 1) own.all.erase(own.all.begin(), newer - 1);
    }
    own.all.push_back(fence);
    pending_ = std::max(pending_, barrier_floor);
  }
  /// All threads of the block met: what was before a fence is now published to all of them.
  void pass_barrier() { covered_ = pending_; }

  /// Whether a fence stands between a store and the read of `reader`. is_before(fence): whether the fence's thread did
  /// it before the read.
  template <class IsBefore>
  bool hold(access_record store, access_record reader, IsBefore is_before) const {
    if (store < covered_) return true;
    const fences* const own = find(reader);
    if (own != nullptr && store < own->behind) return true;
    const fences* const storing = find(store);
    if (storing == nullptr) return false;
    // Later fences are before the read only if the first one is.
    const auto first = std::ranges::upper_bound(storing->all, record::stamp(store), {}, record::stamp);
    return first != storing->all.end() && is_before(*first);
  }

 private:
  static constexpr std::size_t most_kept = 16;

  struct fences {
    std::vector<access_record> all;  ///< ascending
    access_record behind = 0;        ///< the last one's barrier_floor
  };
  const fences* find(access_record of) const {
    const auto thread = static_cast<std::size_t>(record::thread(of));
    return thread < of_threads_.size() ? &of_threads_[thread] : nullptr;
  }

  std::vector<fences> of_threads_;
  access_record pending_ = 0;  ///< older stores are before some fence
  access_record covered_ = 0;  ///< ... and a barrier ended since
};

}  // namespace assay::cpu
