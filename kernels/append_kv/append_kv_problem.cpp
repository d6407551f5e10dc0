#include "kernels/append_kv/append_kv_problem.hpp"

#include <algorithm>
#include <utility>

#include "kernels/device/vector.hpp"
#include "kernels/host/check.hpp"

namespace assay {
namespace {

struct append_kv_types {
  dtype rows, cache;
  append_kv_launcher launch;
};

constexpr append_kv_types append_kv_table[] = {
    {dtype::f16, dtype::f16, launch_append_kv_f16},
    {dtype::bf16, dtype::bf16, launch_append_kv_bf16},
    {dtype::f16, dtype::e4m3fn, launch_append_kv_f16_e4m3fn},
    {dtype::f16, dtype::e4m3fnuz, launch_append_kv_f16_e4m3fnuz},
    {dtype::bf16, dtype::e4m3fn, launch_append_kv_bf16_e4m3fn},
    {dtype::bf16, dtype::e4m3fnuz, launch_append_kv_bf16_e4m3fnuz},
};

/// What problem.hpp says of the operation.
assay_status check_definition(const problem& p) {
  if (p.heads_q != p.heads_kv)
    return refuse(ASSAY_REJECTED, "heads_q is %d and heads_kv %d: append_kv has them equal", p.heads_q, p.heads_kv);
  if (p.rotary != rotary_kind::none && p.rotary != rotary_kind::half && p.rotary != rotary_kind::interleaved)
    return refuse(ASSAY_REJECTED, "rotary is %d, must be none, half or interleaved", static_cast<int>(p.rotary));
  if (p.rotary != rotary_kind::none && p.head_dim_qk % 2 != 0)
    return refuse(ASSAY_REJECTED, "head_dim_qk %d is odd: rotary has no pairs", p.head_dim_qk);
  const bool is_quantised = p.k_type != p.q_type, per_page = p.kv_descale == descale_kind::per_page;
  const std::pair<const char*, float> scales[] = {{"k_scale", p.k_scale}, {"v_scale", p.v_scale}};
  for (const auto& [name, value] : scales) {
    if ((per_page || !is_quantised) && value != 1.0F)
      return refuse(ASSAY_REJECTED, "%s is not 1, but %s", name,
                    per_page ? "kv_descale is per_page" : "the cache has the type of the new rows");
    if (value == 0.0F) return refuse(ASSAY_REJECTED, "%s is 0: rows are divided by it", name);
  }
  return {};
}

/// Features of the other operations, which this one does not have.
assay_status check_features(const problem& p) {
  if (p.bias_type != dtype::none)
    return refuse(ASSAY_UNSUPPORTED, "bias_type is %s: append_kv has no bias", name_of(p.bias_type));
  if (p.window != 0) return refuse(ASSAY_UNSUPPORTED, "window is %d: append_kv has none", p.window);
  if (p.causal != 0) return refuse(ASSAY_UNSUPPORTED, "causal is 1: append_kv has no mask");
  if (p.scale != 1.0F || p.q_scale != 1.0F)
    return refuse(ASSAY_UNSUPPORTED, "scale or q_scale is not 1: append_kv has neither");
  if (p.soft_cap != 0.0F) return refuse(ASSAY_UNSUPPORTED, "soft_cap is not 0: append_kv has none");
  if (p.k_order != key_order::plain) return refuse(ASSAY_UNSUPPORTED, "k_order is not plain: append_kv has no other");
  if (p.num_splits > 1)
    return refuse(ASSAY_UNSUPPORTED, "num_splits is %d: append_kv has nothing to split", p.num_splits);
  return {};
}

/// Blocks of a launch at the most. A row has one of its own where pages have descales (append_kv_pages.hpp); else a
/// block has some rows, and the fewest of the wider side (append_kv_kernel.hpp).
std::int64_t most_blocks_of(const problem& p) {
  if (p.kv_descale == descale_kind::per_page) return p.total_q;
  const std::int64_t items = std::int64_t{std::max(p.head_dim_qk, p.head_dim_v)} / device::vector_elements * p.heads_kv;
  const std::int64_t rows_at_once = append_threads / std::clamp<std::int64_t>(items, 1, append_threads);
  return p.total_q / (rows_at_once * append_least_rows_in_flight) + 1;
}

assay_status check_supported(const problem& p) {
  if (p.k_type != p.v_type || find_append_launcher(p) == nullptr)
    return refuse(ASSAY_UNSUPPORTED, "q_type %s, k_type %s, v_type %s: no kernel for these types together",
                  name_of(p.q_type), name_of(p.k_type), name_of(p.v_type));
  if (p.kv_descale == descale_kind::per_page && size_bytes(p.k_type) != 1)
    return refuse(ASSAY_UNSUPPORTED, "kv_descale is per_page, but k_type %s is no 8-bit type", name_of(p.k_type));
  const std::pair<const char*, std::int32_t> dims[] = {{"head_dim_qk", p.head_dim_qk}, {"head_dim_v", p.head_dim_v}};
  for (const auto& [name, value] : dims)
    if (value % device::vector_elements != 0)
      return refuse(ASSAY_UNSUPPORTED, "%s %d is no multiple of %d", name, value, device::vector_elements);
  if (p.heads_kv > max_grid_extent)
    return refuse(ASSAY_UNSUPPORTED, "heads_kv %d exceeds a grid's %lld", p.heads_kv,
                  static_cast<long long>(max_grid_extent));
  const std::int64_t row_elements = (std::int64_t{p.head_dim_qk} + p.head_dim_v) * p.heads_kv;
  if (row_elements / device::vector_elements > append_max_row_vectors)
    return refuse(ASSAY_UNSUPPORTED, "head_dim_qk %d and head_dim_v %d: a row of %d heads exceeds %lld elements",
                  p.head_dim_qk, p.head_dim_v, p.heads_kv,
                  static_cast<long long>(append_max_row_vectors) * device::vector_elements);
  const std::int64_t most_blocks =
      max_grid_blocks(p.kv_descale == descale_kind::per_page ? append_page_threads : append_threads);
  if (most_blocks_of(p) > most_blocks)
    return refuse(ASSAY_UNSUPPORTED, "total_q %d exceeds a grid's %lld blocks", p.total_q,
                  static_cast<long long>(most_blocks));
  return {};
}

}  // namespace

append_kv_launcher find_append_launcher(const problem& p) {
  for (const append_kv_types& t : append_kv_table)
    if (t.rows == p.q_type && t.cache == p.k_type) return t.launch;
  return nullptr;
}

assay_status check_append_problem(const problem* p, bool planned) {
  if (const assay_status status = check_problem(p, planned); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_operation(*p, operation_kind::append_kv, "append_kv"); status.code != ASSAY_OK)
    return status;
  for (const auto step : {check_definition, check_features, check_supported})
    if (const assay_status status = step(*p); status.code != ASSAY_OK) return status;
  return {};
}

std::vector<expectation> expected_tensors(const problem& p, append_tensors& to) {
  const std::int64_t rows = p.total_q, heads = p.heads_kv, pages = p.num_pages;
  constexpr int vector = device::vector_elements;
  std::vector<expectation> all = {
      {"k_new", &to.k_new, p.q_type, {rows, heads, p.head_dim_qk}, true, true},
      {"v_new", &to.v_new, p.q_type, {rows, heads, p.head_dim_v}, true, true},
      {"slots", &to.slots, dtype::i64, {rows}, true, true},
      {"k", &to.k, p.k_type, {pages, p.page_size, heads, p.head_dim_qk}, true, true, ASSAY_IN_OUT, vector},
      {"v", &to.v, p.v_type, {pages, p.page_size, heads, p.head_dim_v}, true, true, ASSAY_IN_OUT, vector},
  };
  if (p.rotary != rotary_kind::none) {
    all.push_back({"positions", &to.positions, dtype::i32, {rows}, true, true});
    all.push_back({"rope_cos", &to.rope_cos, dtype::f32, {any_extent, p.head_dim_qk / 2}, true, true});
    all.push_back({"rope_sin", &to.rope_sin, dtype::f32, {any_extent, p.head_dim_qk / 2}, true, true});
  }
  if (p.kv_descale == descale_kind::per_page) {
    all.push_back({"k_descale", &to.k_descale, dtype::f32, {pages, heads}, true, false, ASSAY_IN_OUT});
    all.push_back({"v_descale", &to.v_descale, dtype::f32, {pages, heads}, true, false, ASSAY_IN_OUT});
  }
  return all;
}

assay_status check_append_tensors(const append_tensors& t) {
  if (t.rope_cos.shape[0] != t.rope_sin.shape[0])
    return refuse(ASSAY_REJECTED, "tensor rope_sin has %lld rows, but rope_cos %lld",
                  static_cast<long long>(t.rope_sin.shape[0]), static_cast<long long>(t.rope_cos.shape[0]));
  return {};
}

}  // namespace assay
