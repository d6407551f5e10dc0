/// MQA logits over a paged key cache.
#include <fmt/format.h>

#include "properties/case/field_checks.hpp"
#include "properties/case/operation.hpp"
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
       .content = queries},
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
  refuse_append_fields(c);
  if (c.heads_kv != 1) refuse("heads_kv", "mqa_logits needs heads_kv 1");
  if (c.batching != q_batching::batch) refuse("batching", "mqa_logits needs batch mode");
  if (c.kv_descale != descale_kind::per_tensor)
    refuse("kv_descale", "mqa_logits needs per_tensor: it has one scale per key");
  if (c.bias_type != dtype::none) refuse("bias_type", "mqa_logits has no bias");
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
                                     .pair_cost = pair_cost};

}  // namespace assay
