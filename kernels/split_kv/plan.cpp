#include "kernels/split_kv/plan.hpp"

#include <algorithm>
#include <limits>

#include "kernels/host/check.hpp"
#include "kernels/split_kv/combine_arguments.hpp"
#include "kernels/split_kv/shape.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {
namespace {

/// Splits are at least so long: each wave has a group of keys or more, for which its start and the join are worth it.
constexpr int least_keys_per_split = 256;

/// Rounds of blocks that the device takes for all of them, as a share of the work: `slots` blocks run at once.
double rounds(std::int64_t blocks, std::int64_t splits, std::int64_t slots) {
  const std::int64_t whole = (blocks * splits + slots - 1) / slots;
  return static_cast<double>(whole) / static_cast<double>(splits);
}

/// As many splits as fill the device once. With more blocks than it holds, the last round of them may be nearly empty:
/// then so many, up to `few`, that it is not, if that spares a tenth.
std::int64_t wanted_splits(std::int64_t blocks, std::int64_t slots, std::int64_t most) {
  constexpr std::int64_t few = 8;
  if (blocks <= slots) return std::clamp<std::int64_t>(slots / blocks, 1, most);
  std::int64_t best = 1;
  for (std::int64_t splits = 2; splits <= std::min(few, most); ++splits)
    if (rounds(blocks, splits, slots) < 0.9 * rounds(blocks, best, slots)) best = splits;
  return best;
}

}  // namespace

std::int32_t split_kv_row_tiles(const problem& p, std::int32_t rows_of_block) {
  const std::int64_t rows = std::int64_t{p.max_q} * (p.heads_q / p.heads_kv);
  return static_cast<std::int32_t>((rows + rows_of_block - 1) / rows_of_block);
}

assay_status check_split_kv(const problem& p) {
  if (const assay_status status = check_operation(p, operation_kind::attention, "split_kv"); status.code != ASSAY_OK)
    return status;
  if (p.kv_descale != descale_kind::per_tensor)
    return refuse(ASSAY_UNSUPPORTED, "kv_descale is per_page: split_kv has no descales per page");
  const std::pair<const char*, std::int32_t> dims[] = {{"head_dim_qk", p.head_dim_qk}, {"head_dim_v", p.head_dim_v}};
  for (const auto& [name, value] : dims)
    if (value < 64 || value > max_head_dim || value % 8 != 0)
      return refuse(ASSAY_UNSUPPORTED, "%s %d is no multiple of 8 from 64 to %d", name, value, max_head_dim);
  if (p.num_splits > max_num_splits)
    return refuse(ASSAY_UNSUPPORTED, "num_splits %d exceeds %d", p.num_splits, max_num_splits);
  constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
  if (std::int64_t{p.max_q} * (p.heads_q / p.heads_kv) > int32_max - most_split_kv_rows)
    return refuse(ASSAY_UNSUPPORTED, "max_q %d times the group's heads exceeds 2^31", p.max_q);
  constexpr std::int64_t most_blocks = max_grid_blocks(most_split_kv_threads);
  const std::int32_t row_tiles = split_kv_row_tiles(p, split_kv_rows(p, split_kv_device_of(32).narrow_columns));
  std::int64_t blocks = std::int64_t{p.heads_kv} * p.num_seqs;
  if (__builtin_mul_overflow(blocks, std::int64_t{row_tiles}, &blocks) || blocks > most_blocks)
    return refuse(ASSAY_UNSUPPORTED, "row tiles %d times heads_kv %d times num_seqs %d exceed a grid's %lld", row_tiles,
                  p.heads_kv, p.num_seqs, static_cast<long long>(most_blocks));
  // The last group's end, and a wave's next group behind it.
  if (p.max_k > int32_max - (most_split_kv_waves + 1) * most_split_kv_group_keys)
    return refuse(ASSAY_UNSUPPORTED, "max_k %d exceeds 2^31", p.max_k);
  const std::int64_t most_rows = p.num_splits > 1 ? max_grid_blocks(combine_threads) : int32_max;
  if (std::int64_t{p.total_q} * p.heads_q > most_rows)
    return refuse(ASSAY_UNSUPPORTED, "total_q %d times heads_q %d exceeds the %lld rows of %s", p.total_q, p.heads_q,
                  static_cast<long long>(most_rows), p.num_splits > 1 ? "a grid that joins splits" : "a call");
  return {};
}

std::int64_t default_workspace_budget_bytes(std::int64_t device_memory_bytes) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  if (device_memory_bytes <= 0) return gib + gib / 2;
  return std::clamp(device_memory_bytes / 8, gib, 8 * gib);
}

std::int64_t workspace_bytes(const problem& p, std::int32_t num_splits) {
  if (num_splits <= 1) return 0;
  const std::int64_t row_bytes = 4 * (std::int64_t{p.head_dim_v} + 1) * num_splits;
  const std::int64_t rows = std::int64_t{p.total_q} * p.heads_q;  // below 2^62
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  return rows > largest / row_bytes ? largest : rows * row_bytes;
}

assay_status plan_splits(const problem& p, std::int64_t budget_bytes, const device_facts& device, assay_plan& plan) {
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  if (const assay_status status = check_problem(&p, false); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_sequences(p); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_split_kv(p); status.code != ASSAY_OK) return status;
  const std::int64_t budget = budget_bytes > 0 ? budget_bytes : default_workspace_budget_bytes(device.memory_bytes);

  std::int32_t splits = p.num_splits;
  if (splits == 0) {
    const split_kv_shape shape = split_kv_shape_of(p, device.shape);
    const std::int64_t blocks =
        std::max<std::int64_t>(1, std::int64_t{split_kv_row_tiles(p, shape.rows)} * p.heads_kv * p.num_seqs);
    const std::int64_t slots = std::int64_t{device.compute_units} * split_kv_blocks_per_unit(shape, device.shape);
    const std::int64_t most = std::clamp<std::int64_t>(
        (std::int64_t{p.max_k} + least_keys_per_split - 1) / least_keys_per_split, 1, max_num_splits);
    splits = static_cast<std::int32_t>(wanted_splits(blocks, slots, most));
    while (splits > 1 && workspace_bytes(p, splits) > budget) --splits;
  }
  const std::int64_t bytes = workspace_bytes(p, splits);
  if (bytes > budget)
    return refuse(ASSAY_UNSUPPORTED, "workspace of %lld bytes for %d splits is over the budget of %lld bytes",
                  static_cast<long long>(bytes), splits, static_cast<long long>(budget));
  plan = {splits, bytes};
  return {};
}

}  // namespace assay
