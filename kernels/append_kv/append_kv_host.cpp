/// The host side of append_kv: its plan, arguments and launches.
#include <algorithm>
#include <span>

#include "kernels/append_kv/append_kv_arguments.hpp"
#include "kernels/append_kv/append_kv_check.hpp"
#include "kernels/append_kv/append_kv_contract.hpp"
#include "kernels/append_kv/append_kv_problem.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

constexpr std::int64_t load_bytes = 16;  // of the widest load

assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* chosen) {
  if (const assay_status status = check_append_problem(p, false); status.code != ASSAY_OK) return status;
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  if (chosen == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
  const std::int64_t bytes = append_workspace_bytes(p->total_q);
  if (budget_bytes > 0 && bytes > budget_bytes)
    return refuse(ASSAY_UNSUPPORTED, "workspace of %lld bytes for %d rows is over the budget of %lld bytes",
                  static_cast<long long>(bytes), p->total_q, static_cast<long long>(budget_bytes));
  *chosen = {1, bytes};
  return {};
}

assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
  if (const assay_status status = check_append_problem(p, true); status.code != ASSAY_OK) return status;
  if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
  *declared = declare_append_kv(*p);
  return {};
}

/// Whether whatever all indices but the last one name starts at a multiple of the widest load.
bool rows_are_aligned(const tensor& t) {
  if (reinterpret_cast<std::uintptr_t>(t.data) % load_bytes != 0) return false;
  for (int d = 0; d < t.rank - 1; ++d)
    if (t.shape[d] > 1 && t.stride[d] * size_bytes(t.type) % load_bytes != 0) return false;
  return true;
}

append_kv_side side_of(const tensor& rows, const tensor& pool, const tensor& descale, std::int32_t head_dim,
                       float scale, bool rotates) {
  append_kv_side side{};
  side.rows = to_device(rows), side.pool = to_device(pool), side.descale = to_device(descale);
  side.head_dim = head_dim;
  side.rows_aligned = rows_are_aligned(rows) ? 1 : 0;
  side.scale = device::float_quotient(scale);
  side.page_gap = pool.stride[0] - pool.shape[1] * pool.stride[1];
  side.parts = size_bytes(pool.type) == 1 && has_whole_vectors(pool) && !rotates ? 2 : 1;
  const std::int32_t head_items = head_dim / (side.parts * device::vector_elements);
  side.items = static_cast<std::int32_t>(rows.shape[1]) * head_items;
  side.num_row_threads = std::min(append_threads, side.items);
  side.rows_at_once = append_threads / side.num_row_threads;
  side.head_items = device::divisor(head_items);
  side.row_threads = device::divisor(side.num_row_threads);
  return side;
}

append_kv_arguments arguments_of(const problem& p, const append_tensors& t, const assay_launch& launch) {
  append_kv_arguments a{};
  const bool rotates = p.rotary != rotary_kind::none;
  a.k = side_of(t.k_new, t.k, t.k_descale, p.head_dim_qk, p.k_scale, rotates);
  a.v = side_of(t.v_new, t.v, t.v_descale, p.head_dim_v, p.v_scale, rotates);
  a.slots = static_cast<const std::int64_t*>(t.slots.data);
  a.positions = static_cast<const std::int32_t*>(t.positions.data);
  a.rope_cos = static_cast<const float*>(t.rope_cos.data);
  a.rope_sin = static_cast<const float*>(t.rope_sin.data);
  a.cos_stride = t.rope_cos.stride[0], a.sin_stride = t.rope_sin.stride[0];
  a.rope_aligned = rows_are_aligned(t.rope_cos) && rows_are_aligned(t.rope_sin) ? 1 : 0;
  a.rotary = p.rotary;
  a.rows = p.total_q;
  a.heads = p.heads_kv;
  a.page_size = p.page_size;
  a.page_slots = device::wide_divisor(p.page_size);
  a.divides = device::float_quotient::takes(p.k_scale) && device::float_quotient::takes(p.v_scale) ? 0 : 1;
  a.heads_per_block = p.total_q > append_rows_by_head ? p.heads_kv : 1;
  a.wrong_row = static_cast<const std::uint32_t*>(launch.workspace);
  return a;
}

append_check_arguments check_arguments_of(const problem& p, const append_tensors& t, const assay_launch& launch) {
  append_check_arguments a{};
  a.slots = static_cast<const std::int64_t*>(t.slots.data);
  a.positions = static_cast<const std::int32_t*>(t.positions.data);
  a.pool_slots = p.num_pages * p.page_size;  // at most the pool's span, which is below 2^63
  a.rope_rows = t.rope_cos.shape[0];
  a.workspace = static_cast<std::uint32_t*>(launch.workspace);
  a.rows = p.total_q;
  a.table_bits = append_table_bits(p.total_q);
  return a;
}

assay_status check_workspace(const assay_launch& launch, std::int32_t rows) {
  const std::int64_t needed = append_workspace_bytes(rows);
  if (needed == 0) return {};
  if (launch.workspace == nullptr)
    return refuse(ASSAY_REJECTED, "workspace is null, but the plan asks for %lld bytes",
                  static_cast<long long>(needed));
  if (launch.workspace_bytes < needed)
    return refuse(ASSAY_REJECTED, "workspace has %lld bytes, but the plan asks for %lld",
                  static_cast<long long>(launch.workspace_bytes), static_cast<long long>(needed));
  if (reinterpret_cast<std::uintptr_t>(launch.workspace) % append_workspace_alignment != 0)
    return refuse(ASSAY_REJECTED, "workspace is not aligned to %lld bytes",
                  static_cast<long long>(append_workspace_alignment));
  return {};
}

/// Checks all that the host can see of a call.
assay_status bind_call(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors,
                       const assay_launch* launch, append_tensors& bound) {
  if (const assay_status status = check_append_problem(p, true); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
  const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
  if (const assay_status status = bind_tensors(expected_tensors(*p, bound), given); status.code != ASSAY_OK)
    return status;
  if (const assay_status status = check_append_tensors(bound); status.code != ASSAY_OK) return status;
  return check_workspace(*launch, p->total_q);
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch) {
  append_tensors bound;
  if (const assay_status status = bind_call(p, tensors, num_tensors, launch, bound); status.code != ASSAY_OK)
    return status;
  if (p->total_q == 0) return {};
  const platform::launch_guard guard(*launch, {tensors, static_cast<std::size_t>(num_tensors)});
  launch_append_check(check_arguments_of(*p, bound, *launch));
  if (const assay_status status = launch_outcome("append_kv_check"); status.code != ASSAY_OK) return status;
  find_append_launcher (*p)(arguments_of(*p, bound, *launch));
  return launch_outcome("append_kv");
}

assay_status outcome(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors,
                     const assay_launch* launch) {
  append_tensors bound;
  if (const assay_status status = bind_call(p, tensors, num_tensors, launch, bound); status.code != ASSAY_OK)
    return status;
  if (p->total_q == 0) return {};
  const platform::launch_guard guard(*launch, {tensors, static_cast<std::size_t>(num_tensors)});
  return tell_append_check(check_arguments_of(*p, bound, *launch), p->page_size);
}

}  // namespace

const assay_kernel append_kv_kernel = {"append_kv", plan, declare, run, outcome};

}  // namespace assay
