/// Batch prefill by warpgroups. A block takes 128 rows of one sequence and one query head, 64 a warpgroup, and walks
/// over their keys in tiles of 128, which a third warpgroup brings to LDS (device/tile_ring.hpp).
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/prefill_group_rows.hpp"
#include "kernels/batch_prefill/prefill_loads.hpp"
#include "kernels/batch_prefill/prefill_rows.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/tile_ring.hpp"

namespace assay {

inline constexpr int prefill_groups_threads = 384;  ///< two warpgroups multiply, the third one brings the tiles

template <class Traits>
using prefill_tile_ring = device::tile_ring<typename Traits::stored, prefill_group_key<Traits>,
                                            typename Traits::element, Traits::max_head_dim>;

#if defined(ASSAY_HAS_WARPGROUPS)

/// The parts of a block, one after another. Within a sequence parts come with most keys first; in every second round
/// blocks take them in reverse order, so that each has about as many keys as the others.
class part_walk {
 public:
  __device__ explicit part_walk(const prefill_arguments& a) : a_(a) {}

  /// The next part with rows; without rows: there is none.
  __device__ __forceinline__ prefill_work next() {
    while (round_ * gridDim.x < a_.parts) {
      const bool is_reverse = round_ % 2 != 0;
      const unsigned int part = round_ * gridDim.x + (is_reverse ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
      ++round_;
      if (part >= a_.parts) continue;
      const prefill_work work = find_prefill_work(a_, static_cast<std::int32_t>(part));
      if (work.first_row < work.rows) return work;
    }
    return {};
  }

 private:
  const prefill_arguments& a_;
  unsigned int round_ = 0;  ///< parts, and those of a round, are below 2^31
};

/// A part of the block; `loaded` has its rows of Q. Calls ahead() before it stores.
template <class Traits, class Ahead>
__device__ __forceinline__ void take_tiles(const prefill_arguments& a, const prefill_work& work, unsigned char* lds,
                                           device::warpgroup_barrier& barrier,
                                           device::tile_taker<prefill_tile_ring<Traits>>& ring,
                                           const prefill_group_queries<Traits>& loaded, Ahead ahead) {
  prefill_group_rows<Traits> rows(a, work, lds + prefill_tile_ring<Traits>::lds_bytes, barrier);
  if (work.visible_keys > 0) {
    const device::sequence_pages pages = a.k_descale.data != nullptr ? pages_of(a, work) : device::sequence_pages{};
    const auto next = [&](std::int32_t tile) { return load_descales(a, work, pages, tile * prefill_group_tile_keys); };
    prefill_descales descales = next(0), descales_ahead = next(1);
    rows.store_queries(loaded);
    const std::int32_t tiles = (work.visible_keys + prefill_group_tile_keys - 1) / prefill_group_tile_keys;
    std::int32_t tile = 0;
    if (rows.tiles() > 0) {
      rows.take_first(ring, descales);
      for (tile = 1; tile < rows.tiles(); ++tile) {
        descales = descales_ahead;
        descales_ahead = next(tile + 1);
        rows.take(ring, tile, descales);
      }
      rows.take_last(ring);
      ++tile;
    }
    for (; tile <= tiles; ++tile) {  // loads that only the other warpgroup needs
      ring.advance();
      ring.pass_turn();
      ring.release();
    }
  }
  ahead();
  rows.store();
}

/// All parts of the block.
template <class Traits>
__device__ __forceinline__ void take_parts(const prefill_arguments& a, unsigned char* lds,
                                           device::warpgroup_barrier& barrier,
                                           device::tile_taker<prefill_tile_ring<Traits>>& ring) {
  part_walk walk(a);
  prefill_work next = walk.next();
  prefill_group_queries<Traits> queries;
  queries.load(a, next);
  while (next.rows > 0) {
    const prefill_work work = next;
    // Also where there is none, so that no register keeps what it had.
    take_tiles<Traits>(a, work, lds, barrier, ring, queries, [&] {
      next = walk.next();
      queries.load(a, next);
    });
  }
}

#endif

template <class Traits>
__global__ void __launch_bounds__(prefill_groups_threads, 1)
    batch_prefill_groups([[maybe_unused]] prefill_arguments a) {
#if defined(ASSAY_HAS_WARPGROUPS)
  using stored = typename Traits::stored;
  using ring = prefill_tile_ring<Traits>;
  constexpr int taking_threads = prefill_groups_threads - device::bringing_threads;
  HIP_DYNAMIC_SHARED(device::swizzled_lds, tile_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(tile_lds);
  __shared__ device::ring_barriers<ring::slots> barriers;
  __shared__ device::warpgroup_barrier group_barriers[taking_threads / 128];

  if (threadIdx.x == 0) {
    barriers.start(taking_threads / 32);
    for (device::warpgroup_barrier& of_group : group_barriers) of_group.start();
  }
  __syncthreads();
  // 168 registers a thread at the launch.
  if (threadIdx.x >= taking_threads) {
    device::give_registers<56>();
    using key = prefill_group_key<Traits>;
    device::tile_bringer<stored, key, typename Traits::element, Traits::max_head_dim> bringer(lds, barriers,
                                                                                              a.has_whole_vectors != 0);
    part_walk walk(a);
    prefill_work next;
    std::int32_t pages_of_next = 0;
    const auto find_next = [&] {
      do next = walk.next();
      while (next.rows > 0 && next.visible_keys <= 0);
      if (next.rows > 0) pages_of_next = bringer.first_pages(pages_of(a, next), next.visible_keys);
    };
    for (find_next(); next.rows > 0;) {
      const prefill_work work = next;
      bringer.bring(source_of<stored>(a.k, work, a.head_dim_qk, multiplied_dim<key>(a.head_dim_qk)),
                    source_of<stored>(a.v, work, a.head_dim_v, a.head_dim_v), pages_of(a, work), work.visible_keys,
                    pages_of_next, find_next);
    }
    bringer.end();
  } else {
    device::take_registers<224>();
    const int group = device::wave_of_block() / 4;
    device::tile_taker<ring> taker(lds, barriers, group);
    take_parts<Traits>(a, lds, group_barriers[group], taker);
  }
#elif defined(__CUDA_ARCH__)
  __trap();  // not launched there
#endif
}

template <class Traits>
void launch_prefill_groups(prefill_arguments arguments, unsigned int parts) {
  constexpr int lds_bytes = prefill_tile_ring<Traits>::lds_bytes + 2 * prefill_group_query_bytes<Traits>;
  void (*const batch_prefill)(prefill_arguments) = batch_prefill_groups<Traits>;
  platform::allow_lds(batch_prefill, lds_bytes);
  arguments.parts = parts;
  const auto at_once = static_cast<unsigned int>(platform::compute_units());
  hipLaunchKernelGGL(batch_prefill, dim3(std::min(parts, at_once)), dim3(prefill_groups_threads), lds_bytes,
                     platform::stream(), arguments);
}

}  // namespace assay
