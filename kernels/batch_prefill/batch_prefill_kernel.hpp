/// Batch prefill over a paged cache. A block takes the rows of one sequence and one query head, 16 rows a wave, and
/// walks over their keys in tiles of 64, which travel to LDS in a ring that its waves share. Q, P and O stay in
/// registers (Q in LDS, where these are few); P goes from the one product to the other without LDS. FP8 is widened
/// exactly on its way to the matrix unit, or to LDS, but for keys that warpgroups multiply (prefill_group_rows.hpp).
/// Descales per page are loaded while the tile before theirs is at work.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/prefill_groups_kernel.hpp"
#include "kernels/batch_prefill/prefill_loads.hpp"
#include "kernels/batch_prefill/prefill_rows.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/pool_view.hpp"

namespace assay {

/// Of waves, each of which loads what it multiplies.
template <class Traits>
__global__ void __launch_bounds__(prefill_most_threads) batch_prefill_block(prefill_arguments a) {
  using stored = typename Traits::stored;
  using crew = device::block_crew<prefill_tile_keys, prefill_least_waves * device::smallest_wave, prefill_most_threads>;
  using ring_type = device::key_ring<stored, stored, Traits::row_bytes, Traits::row_bytes, crew,
                                     device::pool_view<stored>, typename Traits::in_lds>;
  HIP_DYNAMIC_SHARED(uint4, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);

  // All in x, whose extent is the only large one.
  const prefill_work work = find_prefill_work(a, static_cast<std::int32_t>(blockIdx.x));
  if (work.first_row >= work.rows) return;
  prefill_rows<Traits> rows(a, work);
  if (work.tiles > 0) {
    rows.load_queries(lds + a.shape.q_at);
    __syncthreads();  // the ring may take the place of Q

    const device::sequence_pages pages = pages_of(a, work);
    ring_type ring(source_of<stored>(a.k, work, a.head_dim_qk, a.head_dim_qk),
                   source_of<stored>(a.v, work, a.head_dim_v, (a.head_dim_v + 63) / 64 * 64),
                   {pages, {0, work.visible_keys}, 0, work.tiles, 1, a.has_whole_vectors != 0},
                   {lds, a.shape.k_row_bytes, a.shape.v_row_bytes, a.shape.slots}, crew{a.shape.waves * a.shape.lanes});
    ring.start();
    prefill_descales descales = load_descales(a, work, pages, 0);
    for (std::int32_t tile = 0; tile < work.tiles; ++tile) {
      const prefill_descales next = load_descales(a, work, pages, (tile + 1) * prefill_tile_keys);
      ring.advance();
      rows.take(ring.keys(), ring.values(), tile, descales);
      descales = next;  // not earlier: take() reads those of the tile
    }
    ring.finish();
  }
  rows.store();
}

template <class Traits>
void launch_prefill_block(const prefill_arguments& arguments, unsigned int blocks) {
  void (*const batch_prefill)(prefill_arguments) = batch_prefill_block<Traits>;  // the name that the platform reports
  platform::allow_lds(batch_prefill, arguments.shape.lds_bytes);
  hipLaunchKernelGGL(batch_prefill, dim3(blocks),
                     dim3(static_cast<unsigned int>(arguments.shape.waves * arguments.shape.lanes)),
                     static_cast<unsigned int>(arguments.shape.lds_bytes), platform::stream(), arguments);
}

template <class Traits>
void launch_prefill_by_traits(const prefill_arguments& arguments, unsigned int blocks) {
  if constexpr (platform::may_have_warpgroups)
    if (arguments.shape.by_groups != 0) return launch_prefill_groups<Traits>(arguments, blocks);
  launch_prefill_block<Traits>(arguments, blocks);
}

template <class T, class Stored, class Out, int MaxHeadDim>
void launch_prefill_of_dim(const prefill_arguments& arguments, unsigned int blocks) {
  if (arguments.soft_cap == 0.0F)
    launch_prefill_by_traits<prefill_traits<T, Stored, Out, MaxHeadDim, false>>(arguments, blocks);
  else
    launch_prefill_by_traits<prefill_traits<T, Stored, Out, MaxHeadDim, true>>(arguments, blocks);
}

template <class T, class Stored, class Out>
void launch_prefill(const prefill_arguments& arguments, unsigned int blocks) {
  constexpr int least = prefill_least_head_dim;
  if (arguments.head_dim_qk == least && arguments.head_dim_v == least)
    launch_prefill_of_dim<T, Stored, Out, least>(arguments, blocks);
  else
    launch_prefill_of_dim<T, Stored, Out, prefill_max_head_dim>(arguments, blocks);
}

}  // namespace assay
