/// The host side of mqa_logits: its types, checks, tensors, arguments and launch.
#include <limits>
#include <span>
#include <vector>

#include "kernels/host/bind.hpp"
#include "kernels/host/check.hpp"
#include "kernels/host/host.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"
#include "kernels/mqa_logits/mqa_logits_contract.hpp"
#include "kernels/mqa_logits/mqa_shape.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

mqa_launcher find_launcher(const problem& p) {
  if (p.q_type != p.k_type) return nullptr;
  switch (p.q_type) {
    case dtype::e4m3fn: return launch_mqa_logits_e4m3fn;
    case dtype::e4m3fnuz: return launch_mqa_logits_e4m3fnuz;
    default: return nullptr;
  }
}

/// What problem.hpp says of the operation.
assay_status check_mqa_problem(const problem& p) {
  if (p.heads_kv != 1) return refuse(ASSAY_REJECTED, "heads_kv is %d: MQA has one", p.heads_kv);
  if (p.batching != q_batching::batch) return refuse(ASSAY_REJECTED, "batching is group: mqa_logits has batch only");
  if (p.max_model_len < p.max_k)
    return refuse(ASSAY_REJECTED, "max_model_len %d is below max_k %d", p.max_model_len, p.max_k);
  if (p.fills_hidden != 0 && p.fills_hidden != 1)
    return refuse(ASSAY_REJECTED, "fills_hidden is %d, must be 0 or 1", p.fills_hidden);
  if (p.split_contexts != context_split::fixed && p.split_contexts != context_split::variable)
    return refuse(ASSAY_REJECTED, "split_contexts is %d, must be fixed or variable",
                  static_cast<int>(p.split_contexts));
  if (p.k_order != key_order::plain && p.k_order != key_order::preshuffled)
    return refuse(ASSAY_REJECTED, "k_order is %d, must be plain or preshuffled", static_cast<int>(p.k_order));
  if (p.k_order == key_order::preshuffled && (p.page_size % 16 != 0 || p.head_dim_qk % 16 != 0))
    return refuse(ASSAY_REJECTED, "k_order is preshuffled, but page_size %d or head_dim_qk %d is no multiple of 16",
                  p.page_size, p.head_dim_qk);
  return {};
}

/// Attention's features, which the operation does not have.
assay_status check_features(const problem& p) {
  if (p.bias_type != dtype::none)
    return refuse(ASSAY_UNSUPPORTED, "bias_type is %s: mqa_logits has no bias", name_of(p.bias_type));
  if (p.window != 0) return refuse(ASSAY_UNSUPPORTED, "window is %d: mqa_logits has none", p.window);
  if (p.causal != 0) return refuse(ASSAY_UNSUPPORTED, "causal is 1: mqa_logits has its own mask");
  if (p.kv_descale != descale_kind::per_tensor)
    return refuse(ASSAY_UNSUPPORTED, "kv_descale is per_page: mqa_logits has a scale per key");
  if (p.scale != 1.0F || p.q_scale != 1.0F || p.k_scale != 1.0F || p.v_scale != 1.0F)
    return refuse(ASSAY_UNSUPPORTED, "scale, q_scale, k_scale or v_scale is not 1: mqa_logits has none of them");
  if (p.soft_cap != 0.0F) return refuse(ASSAY_UNSUPPORTED, "soft_cap is not 0: mqa_logits has none");
  return {};
}

assay_status check_supported(const problem& p) {
  if (find_launcher(p) == nullptr)
    return refuse(ASSAY_UNSUPPORTED, "q_type %s, k_type %s: no kernel for these types together", name_of(p.q_type),
                  name_of(p.k_type));
  if (p.head_dim_qk > mqa_max_head_dim || p.head_dim_qk % mqa_head_dim_step != 0)
    return refuse(ASSAY_UNSUPPORTED, "head_dim_qk %d is no multiple of %d up to %d", p.head_dim_qk, mqa_head_dim_step,
                  mqa_max_head_dim);
  if (p.heads_q > mqa_max_heads) return refuse(ASSAY_UNSUPPORTED, "heads_q %d exceeds %d", p.heads_q, mqa_max_heads);
  if (p.max_q > mqa_max_next_n) return refuse(ASSAY_UNSUPPORTED, "max_q %d exceeds %d", p.max_q, mqa_max_next_n);
  if (p.num_splits > mqa_max_splits)
    return refuse(ASSAY_UNSUPPORTED, "num_splits %d exceeds %d", p.num_splits, mqa_max_splits);
  if (p.num_seqs > max_grid_extent)
    return refuse(ASSAY_UNSUPPORTED, "num_seqs %d exceeds a grid's %lld", p.num_seqs,
                  static_cast<long long>(max_grid_extent));
  // Keys are numbered up to two groups of each wave behind the last, and columns up to a block's threads behind it.
  if (p.max_model_len > std::numeric_limits<std::int32_t>::max() - 4 * mqa_threads)
    return refuse(ASSAY_UNSUPPORTED, "max_model_len %d exceeds 2^31", p.max_model_len);
  return {};
}

assay_status check(const problem* p, bool planned) {
  if (const assay_status status = check_problem(p, planned); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_sequences(*p); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_operation(*p, operation_kind::mqa_logits, "mqa_logits");
      status.code != ASSAY_OK)
    return status;
  for (const auto step : {check_mqa_problem, check_features, check_supported})
    if (const assay_status status = step(*p); status.code != ASSAY_OK) return status;
  return {};
}

assay_status plan(const problem* p, std::int64_t budget_bytes, assay_plan* chosen) {
  if (const assay_status status = check(p, false); status.code != ASSAY_OK) return status;
  if (budget_bytes < 0) return refuse(ASSAY_REJECTED, "workspace_budget_bytes is negative");
  if (chosen == nullptr) return refuse(ASSAY_REJECTED, "plan is null");
  const mqa_shape shape = mqa_shape_of(*p, platform::usual_wave_lanes);
  *chosen = {p->num_splits > 0 ? p->num_splits : mqa_splits(*p, shape), 0};
  return {};
}

assay_status declare(const problem* p, const assay_launch* launch, contract* declared) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (launch == nullptr || declared == nullptr) return refuse(ASSAY_REJECTED, "launch or contract is null");
  const int lanes = platform::wave_size(*launch);
  *declared = declare_mqa_logits(*p, lanes, mqa_by_groups(*p, lanes));
  return {};
}

struct mqa_tensors : paged_tensors {
  tensor weights, k_row_scale, logits;
};

std::vector<expectation> expectations(const problem& p, mqa_tensors& to) {
  const std::int64_t rows = p.total_q;
  std::vector<expectation> all = page_tables(p, to);
  all.push_back({"q", &to.q, p.q_type, {rows, p.heads_q, p.head_dim_qk}, true, false});
  all.push_back({"weights", &to.weights, dtype::f32, {rows, p.heads_q}});
  all.push_back({"k", &to.k, p.k_type, {p.num_pages, p.page_size, 1, p.head_dim_qk}, true, true, ASSAY_INPUT, 8});
  all.push_back({"k_row_scale", &to.k_row_scale, dtype::f32, {p.num_pages, p.page_size}});
  all.push_back({"seqlens_k", &to.seqlens_k, dtype::i32, {p.num_seqs}, true, true});
  all.push_back({"logits", &to.logits, dtype::f32, {rows, p.max_model_len}, true, true, ASSAY_OUTPUT});
  return all;
}

/// What the strides of two tensors must say beyond being strides.
assay_status check_strides(const problem& p, const mqa_tensors& t) {
  if (p.total_q > 1 && t.logits.stride[0] < p.max_model_len)
    return refuse(ASSAY_REJECTED, "tensor logits has row stride %lld, must be at least max_model_len %d",
                  static_cast<long long>(t.logits.stride[0]), p.max_model_len);
  const bool is_dense = (p.page_size == 1 || t.k.stride[1] == p.head_dim_qk) &&
                        (p.num_pages <= 1 || t.k.stride[0] == std::int64_t{p.page_size} * p.head_dim_qk);
  if (p.k_order == key_order::preshuffled && !is_dense)
    return refuse(ASSAY_REJECTED, "tensor k is preshuffled, but its strides are not those of a dense pool");
  return {};
}

assay_status check_absent(std::span<const assay_tensor> given) {
  for (const assay_tensor& t : given)
    for (const char* const attention_only : {"v", "bias", "sinks", "prefix_offset"})
      if (t.name != nullptr && std::strcmp(t.name, attention_only) == 0)
        return refuse(ASSAY_UNSUPPORTED, "tensor %s is given: mqa_logits has none", t.name);
  return {};
}

/// Whether the codes of each head begin at multiples of 16 bytes and lie side by side.
bool has_whole_heads(const tensor& q) {
  return reinterpret_cast<std::uintptr_t>(q.data) % 16 == 0 && q.stride[0] % 16 == 0 && q.stride[1] % 16 == 0 &&
         q.stride[2] == 1;
}

mqa_arguments arguments_of(const problem& p, const mqa_tensors& t, const assay_launch& launch) {
  const auto integers = [](const tensor& from) { return static_cast<const std::int32_t*>(from.data); };
  const bool has_table = p.page_table == page_table_kind::block_table;
  mqa_arguments a{};
  a.q = to_device(t.q), a.weights = to_device(t.weights);
  a.k = to_device(t.k), a.k_row_scale = to_device(t.k_row_scale);
  a.logits = to_device(t.logits);
  a.seqlens_k = integers(t.seqlens_k);
  a.pages = integers(has_table ? t.block_table : t.page_indices);
  a.block_table_stride = t.block_table.stride[0];
  a.page_indptr = has_table ? nullptr : integers(t.page_indptr);
  a.shape = mqa_shape_of(p, platform::wave_size(launch));
  a.next_n = p.max_q;
  a.block_rows = mqa_block_rows(p, a.shape);
  a.heads = p.heads_q;
  a.head_dim = p.head_dim_qk;
  a.page_size = p.page_size;
  a.by_page_size = device::divisor(p.page_size);
  a.has_whole_vectors = static_cast<std::int32_t>(has_whole_vectors(t.k));
  a.has_whole_heads = static_cast<std::int32_t>(has_whole_heads(t.q));
  a.max_model_len = p.max_model_len;
  a.fills_hidden = p.fills_hidden;
  a.preshuffled = p.k_order == key_order::preshuffled ? 1 : 0;
  a.num_splits = p.num_splits;
  a.has_fixed_contexts = p.split_contexts == context_split::fixed ? 1 : 0;
  a.part_keys = mqa_part_unit(p);
  if (p.split_contexts == context_split::variable)
    a.part_keys *= (mqa_units_of_longest(p) + p.num_splits - 1) / p.num_splits;
  return a;
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch) {
  if (const assay_status status = check(p, true); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_launch(tensors, num_tensors, launch); status.code != ASSAY_OK) return status;
  const std::span<const assay_tensor> given(tensors, static_cast<std::size_t>(num_tensors));
  if (const assay_status status = check_absent(given); status.code != ASSAY_OK) return status;
  mqa_tensors bound;
  if (const assay_status status = bind_tensors(expectations(*p, bound), given); status.code != ASSAY_OK) return status;
  if (const assay_status status = check_strides(*p, bound); status.code != ASSAY_OK) return status;
  if (p->total_q == 0) return {};

  const mqa_arguments arguments = arguments_of(*p, bound, *launch);
  const mqa_grid grid{static_cast<unsigned int>(p->num_splits),
                      static_cast<unsigned int>((p->max_q + arguments.block_rows - 1) / arguments.block_rows),
                      static_cast<unsigned int>(p->num_seqs)};
  const platform::launch_guard guard(*launch, given);
  find_launcher (*p)(arguments, grid);
  return launch_outcome("mqa_logits");
}

}  // namespace

const assay_kernel mqa_logits_kernel = {"mqa_logits", plan, declare, run, nullptr};

}  // namespace assay
