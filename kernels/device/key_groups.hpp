/// Groups of keys of a paged pool, as key_ring.hpp copies them: whose they are, what a key has, and which of them come.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/key_atoms.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

/// Whose groups are: a wave's, of one or more atoms of keys. run_keys: of which one page is looked up, where pages are
/// multiples of it. spare_registers: that a lane has for the next group where registers are few. reads_once: whether
/// blocks that read the same keys do so at about the same time, if at all, so that caches need not keep them.
/// has_cheap_fence: whether a ring may have one more of the crew's fences, so that the next copies begin before the
/// wait.
/// has_window: its runs' pages are looked up by page_window.hpp, where copies are asynchronous.
template <int Keys = device::group_keys, bool ReadsOnce = false, bool HasWindow = false>
struct wave_crew {
  static constexpr bool has_cheap_fence = true;
  static constexpr bool reads_once = ReadsOnce;
  static constexpr bool has_window = HasWindow && !platform::copies_pass_registers;
  static constexpr int group_keys = Keys, run_keys = device::group_keys;
  static constexpr int least_members = smallest_wave, most_members = largest_wave;
  static constexpr int spare_registers = 32;
  __device__ static int members() { return wave_lanes(); }
  __device__ static int member() { return static_cast<int>(threadIdx.x) % wave_lanes(); }
  __device__ static void fence() { platform::wave_fence(); }
};

/// All waves of a block's, of `Keys`. All of them must make the ring's calls together.
template <int Keys, int LeastThreads, int MostThreads>
struct block_crew {
  static constexpr bool has_cheap_fence = false, reads_once = false, has_window = false;
  static constexpr int group_keys = Keys, run_keys = Keys;
  static constexpr int least_members = LeastThreads, most_members = MostThreads;
  static constexpr int spare_registers = 0;
  int threads;
  __device__ int members() const { return threads; }
  __device__ static int member() { return static_cast<int>(threadIdx.x); }
  __device__ static void fence() { __syncthreads(); }
};

/// K or V of one kv head.
template <class T, class Pool = pool_view<T>>
struct group_source {
  Pool pool;
  int row_bytes;     ///< that a key has
  int copied_bytes;  ///< that are copied: zeros behind row_bytes, which the matrix unit reads, too
};

/// Where a crew's groups lie: it takes groups first, first + step, ... below last.
struct group_range {
  sequence_pages pages;
  key_range live;  ///< keys outside are never read, and are zeros in LDS
  std::int32_t first, last, step;
  bool has_whole_vectors;  ///< rows of both pools may be read 16 bytes at a time; else 8
};

}  // namespace assay::device
