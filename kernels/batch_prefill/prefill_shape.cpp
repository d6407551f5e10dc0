#include "kernels/batch_prefill/prefill_shape.hpp"

#include <algorithm>

#include "kernels/device/key_ring.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay {

prefill_shape prefill_shape_of(const problem& p, int lanes) {
  const auto row_bytes = [](std::int32_t elements, dtype type) {
    return device::swizzled_row_bytes(elements * static_cast<std::int32_t>(size_bytes(type)));
  };
  constexpr std::int32_t few_rows = prefill_least_waves * prefill_wave_rows;
  constexpr int threads = std::min(prefill_most_threads, platform::most_threads_of_block);
  prefill_shape s{};
  s.lanes = lanes;
  s.waves = p.max_q <= few_rows ? prefill_least_waves : std::max(prefill_least_waves, threads / lanes);
  s.rows = s.waves * prefill_wave_rows;
  s.k_row_bytes = row_bytes(p.head_dim_qk, p.k_type);
  s.v_row_bytes = row_bytes(p.head_dim_v, p.v_type);
  const std::int32_t slot_bytes = prefill_tile_keys * (s.k_row_bytes + s.v_row_bytes);
  // At most 32 KiB each, and 32 KiB of Q: two slots fit into the least LDS that a platform has.
  constexpr int least_slots = platform::copies_pass_registers ? 1 : 2;
  constexpr int most_slots = platform::copies_pass_registers ? 1 : device::most_ring_slots;
  s.slots = std::clamp(platform::lds_bytes().of_block / slot_bytes, least_slots, most_slots);
  s.lds_bytes = std::max(s.slots * slot_bytes, s.rows * row_bytes(p.head_dim_qk, dtype::f16));
  return s;
}

std::int32_t prefill_row_tiles(const problem& p, std::int32_t rows_of_block) {
  return static_cast<std::int32_t>((std::int64_t{p.max_q} + rows_of_block - 1) / rows_of_block);
}

}  // namespace assay
