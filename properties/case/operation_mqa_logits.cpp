/// MQA logits over a paged key cache.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/head_sums.hpp"
#include "properties/case/field_checks.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/own_fields.hpp"
#include "properties/case/planning.hpp"

namespace assay {
namespace {

constexpr const char* kernels[] = {"mqa_logits"};
constexpr const char* results[] = {"logits"};

std::vector<planned_tensor> inputs(const attention_case& c) {
  using enum tensor_content;
  const batch_extents batch(c);
  std::vector<planned_tensor> planned{
      {.name = "q",
       .type = c.q_type,
       .shape = {batch.total_q, c.heads_q, c.head_dim_qk},
       .order = memory_order(c.q_order),
       .content = queries,
       .has_any_strides = true},
      plan_pool(c, "k", c.kv_type, c.head_dim_qk, keys),
      {.name = "weights", .type = dtype::f32, .shape = {batch.total_q, c.heads_q}, .content = weights},
      {.name = "k_row_scale",
       .type = dtype::f32,
       .shape = {c.pool_pages, c.page_size},
       .content = key_scales,
       .is_pool = true}};
  plan_tables(c, planned);
  return planned;
}

std::vector<planned_tensor> outputs(const problem& planned) {
  return {{"logits", dtype::f32, {planned.total_q, planned.max_model_len}}};
}

void check_fields(const attention_case& c) {
  if (c.heads_kv != 1) refuse("heads_kv", "mqa_logits needs heads_kv 1");
  if (c.batching != q_batching::batch) refuse("batching", "mqa_logits needs batch mode");
  if (c.kv_descale != descale_kind::per_tensor)
    refuse("kv_descale", "mqa_logits needs per_tensor: it has one scale per key");
  if (c.bias_type != dtype::none) refuse("bias_type", "mqa_logits has no bias");
  if (c.bias_shared != bias_sharing::none) refuse("bias_shared", "mqa_logits has no bias");
  if (c.v_has_other_layout) refuse("v_has_other_layout", "mqa_logits has no V");
  if (c.sinks) refuse("sinks", "mqa_logits has no sinks");
  if (c.k_order == key_order::preshuffled && (c.page_size % 16 != 0 || c.head_dim_qk % 16 != 0))
    refuse("k_order", "preshuffled keys need page_size and head_dim_qk to be multiples of 16");
  for (std::size_t i = 0; i < c.sequences.size(); ++i) {
    const std::string at = fmt::format("sequences[{}].", i);
    if (c.sequences[i].prefix_offset) refuse(at + "prefix_offset", "mqa_logits has no prefix");
    if (c.sequences[i].k > c.max_model_len)
      refuse(at + "k", fmt::format("{} keys, but max_model_len is {}", c.sequences[i].k, c.max_model_len));
  }
}

key_range live_keys(const attention_case& c, const sequence& s) {
  return attention_operation.live_keys(c, s);
}

std::int64_t pair_cost(const attention_case& c) {
  return std::int64_t{c.heads_q} * c.head_dim_qk;
}

/// Checks the fields for the sum over the heads.
std::string contract_fault(const contract& c, const problem&) {
  const bool has_tree = std::ranges::any_of(c.head_tree, [](std::int32_t stride) { return stride != 0; });
  if (c.head_rows == 0 && !has_tree) return {};
  if (oracle::head_sums::has_order(c)) return {};
  return fmt::format("head_rows is {} and head_tree {}: they do not define an order that joins all rows", c.head_rows,
                     fmt::join(c.head_tree, ", "));
}

constexpr own_field max_model_len = own<&attention_case::max_model_len>("max_model_len", "only mqa_logits has columns");

constexpr own_field own_fields[] = {
    own<&attention_case::k_order>("k_order", "only mqa_logits has preshuffled keys"),
    own<&attention_case::split_contexts>("split_contexts", "only mqa_logits splits contexts"),
    {max_model_len.name, max_model_len.refusal, max_model_len.is_plain, nullptr},  // at least the longest sequence
    own<&attention_case::fills_hidden>("fills_hidden", "only mqa_logits has columns"),
};

void state(const attention_case& c, problem& p) {
  p.k_order = c.k_order;
  p.split_contexts = c.split_contexts;
  p.max_model_len = c.max_model_len;
  p.fills_hidden = c.fills_hidden ? 1 : 0;
}

bool too_few_columns(problem& p) {
  if (p.max_k == 0) return false;
  p.max_model_len = p.max_k - 1;
  return true;
}

constexpr bad_value bad_values[] = {
    ASSAY_UNKNOWN_VALUES(k_order),
    ASSAY_UNKNOWN_VALUES(split_contexts),
    {"fills_hidden 2", set_field<&problem::fills_hidden, 2>},
    {"fills_hidden -1", set_field<&problem::fills_hidden, -1>},
    {"max_model_len -1", set_field<&problem::max_model_len, -1>},
    {"max_model_len below max_k", too_few_columns},
    {"heads_kv 2 (mqa_logits needs 1)", set_field<&problem::heads_kv, 2>},
    {"batching group (mqa_logits needs batch)", set_field<&problem::batching, q_batching::group>},
};

}  // namespace

const operation mqa_logits_operation{.kind = operation_kind::mqa_logits,
                                     .name = "mqa_logits",
                                     .kernels = kernels,
                                     .capabilities = has_page_tables | has_mask | has_row_outputs | has_columns,
                                     .results = results,
                                     .is_causal = true,
                                     .plain_batching = q_batching::batch,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .validate = check_fields,
                                     .live_keys = live_keys,
                                     .pair_cost = pair_cost,
                                     .contract_fault = contract_fault,
                                     .own_fields = own_fields,
                                     .state = state,
                                     .bad_values = bad_values};

}  // namespace assay
