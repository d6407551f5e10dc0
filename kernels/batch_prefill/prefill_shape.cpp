#include "kernels/batch_prefill/prefill_shape.hpp"

#include <algorithm>

#include "kernels/device/key_ring.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay {

bool prefill_by_groups(const problem& p, int lanes) {
  const bool fits_pages = p.kv_descale == descale_kind::per_tensor || p.page_size % prefill_group_tile_keys == 0;
  return fits_pages && platform::has_warpgroups(lanes);
}

prefill_shape prefill_shape_of(const problem& p, int lanes, bool keeps_q) {
  const auto row_bytes = [](std::int32_t elements, dtype type) {
    return device::swizzled_row_bytes(elements * static_cast<std::int32_t>(size_bytes(type)));
  };
  constexpr std::int32_t few_rows = 2 * prefill_least_waves * prefill_wave_rows;
  prefill_shape s{};
  if (prefill_by_groups(p, lanes)) {
    s.by_groups = 1;
    s.rows = prefill_group_block_rows;
    return s;
  }
  s.lanes = lanes;
  s.waves = p.max_q <= few_rows ? prefill_least_waves : prefill_most_threads / lanes;
  s.rows = s.waves * prefill_wave_rows;
  const dtype in_lds = platform::copies_pass_registers ? dtype::f16 : p.k_type;  // FP8 is widened on its way
  s.k_row_bytes = row_bytes(p.head_dim_qk, in_lds);
  s.v_row_bytes = row_bytes(p.head_dim_v, in_lds);
  const std::int32_t slot_bytes = prefill_tile_keys * (s.k_row_bytes + s.v_row_bytes);
  const std::int32_t q_bytes = s.rows * row_bytes(p.head_dim_qk, dtype::f16);
  // Slots and Q are at most 32 KiB each, and platforms of few registers have one slot: all fit into the 64 KiB that a
  // block has at least.
  constexpr int least_slots = platform::copies_pass_registers ? 1 : 2;
  constexpr int most_slots = platform::copies_pass_registers ? 1 : device::most_ring_slots;
  // Of small blocks two share a compute unit; CUDA's runtime takes 1 KiB of each.
  const platform::lds_sizes lds = platform::lds_bytes();
  const int limit = s.waves > prefill_least_waves ? lds.of_block : std::min(lds.of_block, lds.of_unit / 2 - 1024);
  s.slots = least_slots;
  while (s.slots < most_slots && (s.slots + 1) * slot_bytes <= limit) ++s.slots;
  s.q_at = keeps_q ? s.slots * slot_bytes : 0;
  s.lds_bytes = std::max(s.slots * slot_bytes, s.q_at + q_bytes);
  return s;
}

std::int32_t prefill_row_tiles(const problem& p, std::int32_t rows_of_block) {
  return static_cast<std::int32_t>((std::int64_t{p.max_q} + rows_of_block - 1) / rows_of_block);
}

}  // namespace assay
