#include "kernels/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>

#include "kernels/combine.hpp"
#include "kernels/split_kv.hpp"

namespace assay {
namespace {

/// Blocks per compute unit that keep it busy: with 49 KiB of LDS and 128 threads, no unit holds many more.
constexpr int blocks_per_compute_unit = 2;

/// Grid extents y and z of every platform end here.
constexpr std::int64_t max_grid_extent = 65535;

bool is_dtype(dtype t) {
  return dtype::none <= t && t <= dtype::i32;
}

struct bounded_field {
  const char* name;
  std::int64_t value;
  std::int64_t least;
};

assay_status check_ranges(const problem& p) {
  const bounded_field fields[] = {{"num_seqs", p.num_seqs, 0},
                                  {"total_q", p.total_q, 0},
                                  {"max_q", p.max_q, 0},
                                  {"max_k", p.max_k, 0},
                                  {"heads_q", p.heads_q, 1},
                                  {"heads_kv", p.heads_kv, 1},
                                  {"head_dim_qk", p.head_dim_qk, 1},
                                  {"head_dim_v", p.head_dim_v, 1},
                                  {"page_size", p.page_size, 1},
                                  {"num_pages", p.num_pages, 0},
                                  {"window", p.window, 0},
                                  {"num_splits", p.num_splits, 0}};
  for (const bounded_field& f : fields)
    if (f.value < f.least)
      return refuse(ASSAY_REJECTED, "%s is %lld, must be at least %lld", f.name, static_cast<long long>(f.value),
                    static_cast<long long>(f.least));
  const std::pair<const char*, float> scalars[] = {{"scale", p.scale},
                                                   {"q_scale", p.q_scale},
                                                   {"k_scale", p.k_scale},
                                                   {"v_scale", p.v_scale},
                                                   {"soft_cap", p.soft_cap}};
  for (const auto& [name, value] : scalars)
    if (!std::isfinite(value)) return refuse(ASSAY_REJECTED, "%s is not finite", name);
  if (!(p.soft_cap >= 0.0F)) return refuse(ASSAY_REJECTED, "soft_cap is negative");
  if (p.causal != 0 && p.causal != 1) return refuse(ASSAY_REJECTED, "causal is %d, must be 0 or 1", p.causal);
  return {};
}

assay_status check_types(const problem& p) {
  const std::pair<const char*, dtype> types[] = {
      {"q_type", p.q_type}, {"k_type", p.k_type}, {"v_type", p.v_type}, {"o_type", p.o_type}};
  for (const auto& [name, type] : types)
    if (!is_dtype(type) || type == dtype::none || type == dtype::i32)
      return refuse(ASSAY_REJECTED, "%s is %d, which is no element type of that tensor", name, static_cast<int>(type));
  if (p.bias_type != dtype::none && p.bias_type != dtype::f32 && p.bias_type != dtype::f16 &&
      p.bias_type != dtype::bf16)
    return refuse(ASSAY_REJECTED, "bias_type is %d, must be none, f32, f16 or bf16", static_cast<int>(p.bias_type));
  if (p.page_table != page_table_kind::block_table && p.page_table != page_table_kind::page_list)
    return refuse(ASSAY_REJECTED, "page_table is %d, must be block_table or page_list", static_cast<int>(p.page_table));
  return {};
}

assay_status check_consistency(const problem& p) {
  if (p.heads_q % p.heads_kv != 0)
    return refuse(ASSAY_REJECTED, "heads_kv %d does not divide heads_q %d", p.heads_kv, p.heads_q);
  if (p.max_q > p.total_q) return refuse(ASSAY_REJECTED, "max_q %d exceeds total_q %d", p.max_q, p.total_q);
  if (p.total_q > std::int64_t{p.num_seqs} * p.max_q)
    return refuse(ASSAY_REJECTED, "total_q %d exceeds num_seqs %d times max_q %d", p.total_q, p.num_seqs, p.max_q);
  if (p.num_seqs > 0 && p.max_k > 0 && p.num_pages == 0)
    return refuse(ASSAY_REJECTED, "num_pages is 0, but max_k is %d", p.max_k);
  return {};
}

assay_status check_supported(const problem& p) {
  const std::pair<const char*, std::int32_t> dims[] = {{"head_dim_qk", p.head_dim_qk}, {"head_dim_v", p.head_dim_v}};
  for (const auto& [name, value] : dims)
    if (value < 64 || value > max_head_dim || value % 8 != 0)
      return refuse(ASSAY_UNSUPPORTED, "%s %d is no multiple of 8 from 64 to %d", name, value, max_head_dim);
  if (p.num_splits > max_num_splits)
    return refuse(ASSAY_UNSUPPORTED, "num_splits %d exceeds %d", p.num_splits, max_num_splits);
  if (std::int64_t{p.heads_kv} * p.num_seqs > max_grid_extent)
    return refuse(ASSAY_UNSUPPORTED, "heads_kv %d times num_seqs %d exceeds a grid's %lld", p.heads_kv, p.num_seqs,
                  static_cast<long long>(max_grid_extent));
  constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
  if (std::int64_t{p.max_q} * (p.heads_q / p.heads_kv) > int32_max - split_kv_tile_rows)
    return refuse(ASSAY_UNSUPPORTED, "max_q %d times the group's heads exceeds 2^31", p.max_q);
  if (p.max_k > int32_max - 2 * split_kv_tile_keys) return refuse(ASSAY_UNSUPPORTED, "max_k %d exceeds 2^31", p.max_k);
  if (combine_blocks(std::int64_t{p.total_q} * p.heads_q) > int32_max)
    return refuse(ASSAY_UNSUPPORTED, "total_q %d times heads_q %d exceeds a grid", p.total_q, p.heads_q);
  return {};
}

}  // namespace

assay_status refuse(std::int32_t code, const char* format, ...) {
  assay_status status{code, {}};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status.message, sizeof status.message, format, arguments);
  va_end(arguments);
  return status;
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

assay_status check_problem(const problem& p, bool planned) {
  for (const auto check : {check_ranges, check_types, check_consistency})
    if (const assay_status status = check(p); status.code != ASSAY_OK) return status;
  if (planned && p.num_splits == 0) return refuse(ASSAY_REJECTED, "num_splits is 0: the problem has not been planned");
  return check_supported(p);
}

assay_status plan_splits(const problem& p, std::int64_t budget_bytes, const device_facts& device, assay_plan& plan) {
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  if (const assay_status status = check_problem(p, false); status.code != ASSAY_OK) return status;
  const std::int64_t budget = budget_bytes > 0 ? budget_bytes : default_workspace_budget_bytes(device.memory_bytes);

  std::int32_t splits = p.num_splits;
  if (splits == 0) {
    const std::int64_t row_tiles =
        (std::int64_t{p.max_q} * (p.heads_q / p.heads_kv) + split_kv_tile_rows - 1) / split_kv_tile_rows;
    const std::int64_t blocks = std::max<std::int64_t>(1, row_tiles * p.heads_kv * p.num_seqs);
    const std::int64_t wanted = std::int64_t{device.compute_units} * blocks_per_compute_unit / blocks;
    const std::int64_t tiles = (std::int64_t{p.max_k} + split_kv_tile_keys - 1) / split_kv_tile_keys;
    splits = static_cast<std::int32_t>(std::clamp<std::int64_t>(std::min(wanted, tiles), 1, max_num_splits));
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
