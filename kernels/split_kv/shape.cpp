#include "kernels/split_kv/shape.hpp"

#include <algorithm>

#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr int reserved_bytes = 1024;  ///< of each block, by CUDA's runtime
constexpr int most_blocks_per_unit = 4;
constexpr int most_waves_per_unit = 16;  ///< each has enough registers then
constexpr int least_slots = 2;
/// Keys and values on their way to a compute unit while its waves multiply: so many keep the memory busy. While a wave
/// waits, it has one group more. Still more only wait in queues, where units do not get equal shares: the last one ends
/// later (tests/gpu/results/decode_rings-h200.md, early_copies-h200.md).
constexpr int enough_bytes_ahead = 64 << 10;

constexpr std::int32_t round_up(std::int32_t x, std::int32_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

int group_keys_of(const problem& p) {
  return split_kv_group_keys(size_bytes(p.k_type), size_bytes(p.v_type));
}

split_kv_lds lay_out(const problem& p, int rows, int waves, int slots) {
  const auto row_bytes = [](std::int32_t elements, dtype type) {
    return device::swizzled_row_bytes(elements * static_cast<std::int32_t>(size_bytes(type)));
  };
  split_kv_lds at{};
  at.q_row_bytes = row_bytes(p.head_dim_qk, p.q_type);
  at.k_row_bytes = row_bytes(p.head_dim_qk, p.k_type);
  at.v_row_bytes = row_bytes(p.head_dim_v, p.v_type);
  at.o_stride = round_up(p.head_dim_v, 64);
  at.slots = slots;
  at.ring_at = rows * at.q_row_bytes;
  const std::int32_t of_o = rows * at.o_stride * 4;
  at.ring_bytes = std::max(slots * group_keys_of(p) * (at.k_row_bytes + at.v_row_bytes), of_o);
  at.states_at = at.ring_at + waves * at.ring_bytes;
  at.size_bytes = at.states_at + waves * split_kv_state_bytes;
  return at;
}

/// Slots of a wave's ring with which a block fits, and enough bytes are on their way to its unit, or else the most that
/// fit; 0: none do.
int slots_that_fit(const problem& p, int rows, int waves, const split_kv_device& device) {
  if (!device.has_ring) return lay_out(p, rows, waves, 1).size_bytes <= device.lds_of_block_bytes ? 1 : 0;
  int most = 0;
  for (int slots = least_slots; slots <= device::most_ring_slots; ++slots) {
    const split_kv_shape shape{rows, waves, device.lanes, lay_out(p, rows, waves, slots)};
    if (shape.lds.size_bytes > device.lds_of_block_bytes) break;
    most = slots;
    const int blocks = split_kv_blocks_per_unit(shape, device);
    const std::int64_t key_bytes = p.head_dim_qk * size_bytes(p.k_type) + p.head_dim_v * size_bytes(p.v_type);
    if (blocks * waves * (slots - 1) * group_keys_of(p) * key_bytes >= enough_bytes_ahead) break;
  }
  return most;
}

}  // namespace

split_kv_device split_kv_device_of(int lanes) {
  const platform::lds_sizes lds = platform::lds_bytes();
  return {lanes,
          device::narrow_columns,
          std::min(most_split_kv_waves, platform::most_threads_of_block / lanes),
          lds.of_block,
          lds.of_unit,
          !platform::copies_pass_registers};
}

std::int32_t split_kv_rows(const problem& p, int narrow_columns) {
  const std::int64_t rows = std::int64_t{p.max_q} * (p.heads_q / p.heads_kv);
  return rows <= narrow_columns ? narrow_columns : most_split_kv_rows;
}

split_kv_shape split_kv_shape_of(const problem& p, const split_kv_device& device) {
  const std::int32_t rows = split_kv_rows(p, device.narrow_columns);
  for (int waves = device.most_waves; waves > 0; waves /= 2) {
    // Waves are the states of the contract: their number must not depend on the rows, which other sequences change.
    if (slots_that_fit(p, most_split_kv_rows, waves, device) == 0) continue;
    return {rows, waves, device.lanes, lay_out(p, rows, waves, slots_that_fit(p, rows, waves, device))};
  }
  return {rows, 1, device.lanes, lay_out(p, rows, 1, device.has_ring ? least_slots : 1)};  // at most 48 KiB
}

int split_kv_blocks_per_unit(const split_kv_shape& shape, const split_kv_device& device) {
  const int by_lds = device.lds_of_unit_bytes / (shape.lds.size_bytes + reserved_bytes);
  return std::clamp(by_lds, 1, std::clamp(most_waves_per_unit / shape.waves, 1, most_blocks_per_unit));
}

}  // namespace assay
