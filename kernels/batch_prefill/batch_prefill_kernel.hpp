/// Batch prefill over a paged cache. A block takes the rows of one sequence and one query head, 16 rows a wave, and
/// walks over their keys in tiles of 64, which travel to LDS in a ring that its waves share. Q, P and O stay in
/// registers (Q in LDS, where these are few); P goes from the one product to the other without LDS. FP8 is widened
/// exactly on its way to the matrix unit. Descales per page are loaded while the tile before theirs is at work.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/batch_prefill/prefill_group_rows.hpp"
#endif
#include "kernels/batch_prefill/prefill_rows.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/pool_view.hpp"

namespace assay {

/// Descales of the tile's page; behind the last tile, where no page need be, those of the last one.
__device__ inline prefill_descales load_descales(const prefill_arguments& a, const prefill_work& w,
                                                 const device::sequence_pages& pages, std::int32_t tile) {
  if (a.k_descale.data == nullptr) return {};
  const std::int32_t page = pages.page_of(device::min_of(tile, w.tiles - 1) * prefill_tile_keys);
  const auto at = [&](const device_tensor& t) {
    return static_cast<const float*>(t.data)[page * t.stride[0] + w.kv_head * t.stride[1]];
  };
  return {at(a.k_descale), at(a.v_descale)};
}

#if defined(ASSAY_HAS_WARPGROUPS)
template <class Traits>
using prefill_rows_of = std::conditional_t<Traits::in_strips, prefill_group_rows<Traits>, prefill_rows<Traits>>;
#else
template <class Traits>
using prefill_rows_of = prefill_rows<Traits>;
#endif

template <class Traits>
__global__ void __launch_bounds__(prefill_most_threads) batch_prefill_block(prefill_arguments a) {
  using stored = typename Traits::stored;
  using crew = device::block_crew<prefill_tile_keys, prefill_least_waves * device::smallest_wave, prefill_most_threads,
                                  Traits::in_strips>;
  using ring_type = device::key_ring<stored, stored, Traits::row_bytes, Traits::row_bytes, crew>;
  HIP_DYNAMIC_SHARED(device::swizzled_lds, dynamic_lds);
  auto* const lds = reinterpret_cast<unsigned char*>(dynamic_lds);

  const prefill_work work = find_prefill_work(a);
  if (work.first_row >= work.rows) return;
  prefill_rows_of<Traits> rows(a, work);
  if (work.tiles > 0) {
    rows.load_queries(lds + a.shape.q_at);
    __syncthreads();  // the ring may take the place of Q

    const device::sequence_pages pages{a.page_indptr != nullptr ? a.pages + a.page_indptr[work.sequence]
                                                                : a.pages + work.sequence * a.block_table_stride,
                                       a.page_size, a.by_page_size};
    const auto source = [&](const device_tensor& t, int columns, int copied) {
      constexpr int bytes = sizeof(stored);
      return device::group_source<stored>{
          {static_cast<const stored*>(t.data) + work.kv_head * t.stride[2], t.stride[0], t.stride[1]},
          columns * bytes,
          copied * bytes};
    };
    ring_type ring(source(a.k, a.head_dim_qk, a.head_dim_qk), source(a.v, a.head_dim_v, (a.head_dim_v + 63) / 64 * 64),
                   {pages, {0, work.visible_keys}, 0, work.tiles, 1, a.has_whole_vectors != 0},
                   {lds, a.shape.k_row_bytes, a.shape.v_row_bytes, a.shape.slots}, crew{a.shape.waves * a.shape.lanes});
    ring.start();
    prefill_descales descales = load_descales(a, work, pages, 0);
    for (std::int32_t tile = 0; tile < work.tiles; ++tile) {
      const prefill_descales next = load_descales(a, work, pages, tile + 1);
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

template <class T, class Stored, class Out, int MaxHeadDim>
void launch_prefill_of_dim(const prefill_arguments& arguments, unsigned int blocks) {
  if (arguments.soft_cap == 0.0F)
    launch_prefill_block<prefill_traits<T, Stored, Out, MaxHeadDim, false>>(arguments, blocks);
  else
    launch_prefill_block<prefill_traits<T, Stored, Out, MaxHeadDim, true>>(arguments, blocks);
}

template <class T, class Stored, class Out>
void launch_prefill(const prefill_arguments& arguments, unsigned int blocks) {
  if (arguments.head_dim_qk <= 64 && arguments.head_dim_v <= 64)
    launch_prefill_of_dim<T, Stored, Out, 64>(arguments, blocks);
  else
    launch_prefill_of_dim<T, Stored, Out, prefill_max_head_dim>(arguments, blocks);
}

}  // namespace assay
