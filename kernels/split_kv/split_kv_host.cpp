/// The host side of split_kv: its types, checks, tensors, arguments and launches.
#include <span>

#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/platform/current.hpp"
#include "kernels/split_kv/combine_arguments.hpp"
#include "kernels/split_kv/plan.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"
#include "kernels/split_kv/split_kv_contract.hpp"

namespace assay {
namespace {

struct split_kv_types {
  dtype q, k, v, o;
  split_kv_launcher launch;
};

constexpr split_kv_types split_kv_table[] = {
    {dtype::f16, dtype::f16, dtype::f16, dtype::f16, launch_split_kv_f16},
    {dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16, launch_split_kv_bf16},
    {dtype::i8, dtype::i8, dtype::f16, dtype::f16, launch_split_kv_i8},
    {dtype::f16, dtype::e4m3fn, dtype::e4m3fn, dtype::f16, launch_split_kv_f16_e4m3fn},
    {dtype::f16, dtype::e4m3fnuz, dtype::e4m3fnuz, dtype::f16, launch_split_kv_f16_e4m3fnuz},
    {dtype::bf16, dtype::e4m3fn, dtype::e4m3fn, dtype::bf16, launch_split_kv_bf16_e4m3fn},
    {dtype::bf16, dtype::e4m3fnuz, dtype::e4m3fnuz, dtype::bf16, launch_split_kv_bf16_e4m3fnuz},
};

split_kv_launcher find_launcher(const problem& p) {
  for (const split_kv_types& t : split_kv_table)
    if (t.q == p.q_type && t.k == p.k_type && t.v == p.v_type && t.o == p.o_type) return t.launch;
  return nullptr;
}

assay_status check(const problem* p, bool planned) {
  if (const assay_status status = check_problem(p, planned); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_sequences(*p); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_split_kv(*p); status.code != ASSAY_OK) return status;
  if (find_launcher(*p) == nullptr)
    return refuse(ASSAY_UNSUPPORTED, "q_type %s, k_type %s, v_type %s, o_type %s: no kernel for these types together",
                  name_of(p->q_type), name_of(p->k_type), name_of(p->v_type), name_of(p->o_type));
  return {};
}

assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* chosen) {
  if (const assay_status status = check(p, false); status.code != ASSAY_OK) return status;
  if (chosen == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
  const split_kv_device device = split_kv_device_of(platform::usual_wave_lanes);
  return plan_splits(*p, budget_bytes, {platform::device_memory_bytes(), platform::compute_units(), device}, *chosen);
}

assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
  *declared = declare_split_kv(*p, platform::wave_size(*launch));
  return {};
}

using split_kv_tensors = attention_tensors;

/// Whether the elements of each head lie side by side, and begin and end at multiples of 16 bytes.
bool has_whole_queries(const tensor& q) {
  const auto is_whole = [&](std::int64_t elements) { return elements * size_bytes(q.type) % 16 == 0; };
  return reinterpret_cast<std::uintptr_t>(q.data) % 16 == 0 && is_whole(q.stride[0]) && is_whole(q.stride[1]) &&
         q.stride[2] == 1 && is_whole(q.shape[2]);
}

/// Whether the elements of each head lie side by side, and groups of four of them at multiples of their size.
bool has_whole_outputs(const tensor& o) {
  const std::int64_t bytes = 4 * size_bytes(o.type);
  return reinterpret_cast<std::uintptr_t>(o.data) % static_cast<std::uintptr_t>(bytes) == 0 && o.stride[0] % 4 == 0 &&
         o.stride[1] % 4 == 0 && o.stride[2] == 1;
}

split_kv_arguments arguments_of(const problem& p, const split_kv_tensors& t, int lanes) {
  const auto integers = [](const tensor& from) { return static_cast<const std::int32_t*>(from.data); };
  const bool has_table = p.page_table == page_table_kind::block_table;
  const logit_scales scales = logit_scales_of(p);
  split_kv_arguments a{};
  a.q = to_device(t.q), a.k = to_device(t.k), a.v = to_device(t.v), a.bias = to_device(t.bias);
  a.o = to_device(t.o), a.lse = to_device(t.lse);
  a.o_partial = to_device(t.o_partial), a.lse_partial = to_device(t.lse_partial);
  a.cu_seqlens_q = p.batching == q_batching::group ? integers(t.cu_seqlens_q) : nullptr;
  a.seqlens_k = integers(t.seqlens_k);
  a.pages = integers(has_table ? t.block_table : t.page_indices);
  a.block_table_stride = t.block_table.stride[0];
  a.page_indptr = has_table ? nullptr : integers(t.page_indptr);
  a.prefix_offset = integers(t.prefix_offset);
  a.sinks = static_cast<const float*>(t.sinks.data);
  a.bias_type = p.bias_type;
  a.max_q = p.max_q;
  a.group = p.heads_q / p.heads_kv;
  a.heads_kv = p.heads_kv;
  a.head_dim_qk = p.head_dim_qk, a.head_dim_v = p.head_dim_v;
  a.page_size = p.page_size;
  a.by_page_size = device::divisor(p.page_size);
  a.causal = p.causal, a.window = p.window;
  a.num_splits = p.num_splits;
  a.shape = split_kv_shape_of(p, split_kv_device_of(lanes));
  a.row_tiles = split_kv_row_tiles(p, a.shape.rows);
  a.by_group = device::divisor(a.group);
  a.by_heads_kv = device::divisor(a.heads_kv);
  a.by_num_splits = device::divisor(a.num_splits);
  a.by_row_tiles = device::divisor(a.row_tiles);
  a.has_whole_vectors = static_cast<std::int32_t>(has_whole_vectors(t.k) && has_whole_vectors(t.v));
  a.has_whole_queries = static_cast<std::int32_t>(has_whole_queries(t.q));
  a.logit_scale = scales.natural;
  a.base2_logit_scale = scales.base2;
  a.soft_cap = p.soft_cap, a.v_scale = p.v_scale;
  return a;
}

combine_arguments combine_arguments_of(const problem& p, const split_kv_tensors& t, const split_kv_arguments& a) {
  return {a.o,
          a.lse,
          a.o_partial,
          a.lse_partial,
          p.o_type,
          std::int64_t{p.total_q} * p.heads_q,
          p.heads_q,
          device::divisor(p.heads_q),
          p.head_dim_v,
          p.num_splits,
          static_cast<std::int32_t>(has_whole_vectors(t.o_partial)),
          static_cast<std::int32_t>(has_whole_outputs(t.o)),
          a.cu_seqlens_q != nullptr ? a.cu_seqlens_q + p.num_seqs : nullptr};
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
  split_kv_tensors bound;
  const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
  if (const assay_status status = bind_tensors(attention_tensors_of(*p, bound), given); status.code != ASSAY_OK)
    return status;
  if (p->num_seqs == 0 || p->max_q == 0) return {};  // there may be padding rows

  const split_kv_arguments arguments = arguments_of(*p, bound, platform::wave_size(*launch));
  const split_kv_grid grid{static_cast<unsigned int>(arguments.row_tiles * p->heads_kv * p->num_seqs),
                           static_cast<unsigned int>(p->num_splits)};
  const platform::launch_guard guard(*launch, given);
  find_launcher (*p)(arguments, grid);
  if (const assay_status status = launch_outcome("split_kv"); status.code != ASSAY_OK) return status;
  if (p->num_splits > 1) {
    launch_combine(combine_arguments_of(*p, bound, arguments));
    if (const assay_status status = launch_outcome("combine"); status.code != ASSAY_OK) return status;
  }
  return launch_outcome("split_kv");
}

}  // namespace

const assay_kernel split_kv_kernel = {"split_kv", plan, declare, run, nullptr};

}  // namespace assay
