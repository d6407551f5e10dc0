#include "kernels/mqa_logits/mqa_shape.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/device/head_atoms.hpp"
#include "kernels/device/key_ring.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

/// What a block does before its first key costs about as much as so many keys.
constexpr std::int64_t keys_of_start = 128;
constexpr std::int32_t reserved_bytes = 1024;  ///< of each block, by CUDA's runtime

/// Blocks with that much LDS that a unit has room for.
std::int32_t blocks_of_unit(std::int32_t lds_bytes) {
  return std::clamp(platform::lds_bytes().of_unit / (lds_bytes + reserved_bytes), 1, mqa_blocks_of_unit);
}

template <class T>
inline constexpr bool has_group_heads = !std::is_same_v<device::usual_heads<T>, device::group_heads<T>>;

template <class T>
std::int32_t panel_bytes(const mqa_shape& s, std::int32_t head_dim) {
  if (s.by_groups != 0) return device::group_heads<T>::panel::size_bytes(s.panel_rows(), head_dim);
  return device::usual_heads<T>::panel::size_bytes(s.panel_rows(), head_dim);
}

}  // namespace

bool mqa_by_groups(const problem& p, int lanes) {
  const bool has_them = p.k_type == dtype::e4m3fn ? has_group_heads<device::e4m3fn> : has_group_heads<device::e4m3fnuz>;
  return has_them && platform::has_warpgroups(lanes);
}

mqa_shape mqa_shape_of(const problem& p, int lanes) {
  mqa_shape s{};
  s.heads = p.heads_q <= mqa_few_heads ? mqa_few_heads : mqa_max_heads;
  s.rows = p.max_q <= 1 ? 1 : mqa_panel_rows / s.heads;
  s.by_groups = mqa_by_groups(p, lanes) ? 1 : 0;
  s.weights_at = p.k_type == dtype::e4m3fn ? panel_bytes<device::e4m3fn>(s, p.head_dim_qk)
                                           : panel_bytes<device::e4m3fnuz>(s, p.head_dim_qk);
  s.ring_at = s.weights_at + s.panel_rows() * static_cast<std::int32_t>(sizeof(float));
  const std::int32_t slots_bytes = mqa_threads / lanes * mqa_group_keys * device::swizzled_row_bytes(p.head_dim_qk);
  constexpr int least_slots = platform::copies_pass_registers ? 1 : 2;
  s.slots = platform::copies_pass_registers ? 1 : device::most_ring_slots;
  // As many as cost no block of a unit.
  const auto bytes_with = [&](int slots) { return s.ring_at + slots * slots_bytes; };
  const std::int32_t most_blocks = blocks_of_unit(bytes_with(least_slots));
  while (s.slots > least_slots &&
         (bytes_with(s.slots) > platform::lds_bytes().of_block || blocks_of_unit(bytes_with(s.slots)) < most_blocks))
    --s.slots;
  s.lds_bytes = s.ring_at + s.slots * slots_bytes;
  return s;
}

std::int32_t mqa_block_rows(const problem& p, const mqa_shape& shape) {
  return std::clamp(p.max_q, 1, shape.rows);
}

std::int64_t mqa_part_unit(const problem& p) {
  const int keys = p.split_contexts == context_split::fixed ? mqa_fixed_unit : mqa_variable_unit;
  // Pages are not empty, which clang's analyzer cannot know.
  return std::lcm(std::int64_t{keys}, std::max(std::int64_t{p.page_size}, std::int64_t{1}));
}

std::int64_t mqa_units_of_longest(const problem& p) {
  const std::int64_t unit = mqa_part_unit(p);
  return (p.max_k + unit - 1) / unit;
}

std::int32_t mqa_splits(const problem& p, const mqa_shape& shape) {
  const std::int64_t units = mqa_units_of_longest(p), compute_units = platform::compute_units();
  const std::int64_t rows = mqa_block_rows(p, shape), others = p.num_seqs * ((p.max_q + rows - 1) / rows);
  const std::int64_t together = blocks_of_unit(shape.lds_bytes);
  std::int32_t best = 1;
  std::int64_t least = 0;
  for (std::int32_t splits = 1; splits <= mqa_max_splits && splits <= std::max<std::int64_t>(units, 1); ++splits) {
    const std::int64_t part = (units + splits - 1) / splits, parts = part == 0 ? 1 : (units + part - 1) / part;
    // Blocks run in rounds, each as long as one of its blocks: those that share a compute unit wait for themselves, not
    // for each other.
    const std::int64_t rounds = (parts * others + together * compute_units - 1) / (together * compute_units);
    const std::int64_t cost = rounds * (part * mqa_part_unit(p) + keys_of_start);
    if (splits == 1 || cost < least) best = splits, least = cost;
  }
  return best;
}

}  // namespace assay
