/// What a block of batch_prefill reads of the paged cache: descales, pages, and where rows of K and V lie.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/batch_prefill/prefill_rows.hpp"
#include "kernels/batch_prefill/prefill_work.hpp"
#include "kernels/device/key_groups.hpp"
#include "kernels/device/pool_view.hpp"

namespace assay {

/// Descales of the page of `key`; behind the last visible key, where no page need be, those of its page.
__device__ inline prefill_descales load_descales(const prefill_arguments& a, const prefill_work& w,
                                                 const device::sequence_pages& pages, std::int32_t key) {
  if (a.k_descale.data == nullptr) return {};
  const std::int32_t page = pages.page_of(device::min_of(key, w.visible_keys - 1));
  const auto at = [&](const device_tensor& t) {
    return static_cast<const float*>(t.data)[page * t.stride[0] + w.kv_head * t.stride[1]];
  };
  return {at(a.k_descale), at(a.v_descale)};
}

__device__ inline device::sequence_pages pages_of(const prefill_arguments& a, const prefill_work& w) {
  return {a.page_indptr != nullptr ? a.pages + a.page_indptr[w.sequence] : a.pages + w.sequence * a.block_table_stride,
          a.page_size, a.by_page_size};
}

/// K or V of the work's head, of rows of `columns`, of which `copied` are copied.
template <class Stored>
__device__ inline device::group_source<Stored> source_of(const device_tensor& t, const prefill_work& w, int columns,
                                                         int copied) {
  constexpr int bytes = sizeof(Stored);
  return {{static_cast<const Stored*>(t.data) + w.kv_head * t.stride[2], t.stride[0], t.stride[1]},
          columns * bytes,
          copied * bytes};
}

}  // namespace assay
