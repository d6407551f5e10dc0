/// Attention over a paged KV cache.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "oracle/decode.hpp"
#include "properties/case/field_checks.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/own_fields.hpp"
#include "properties/case/planning.hpp"

namespace assay {
namespace {

constexpr const char* kernels[] = {"split_kv", "batch_prefill"};
constexpr const char* results[] = {"o"};

std::vector<planned_tensor> inputs(const attention_case& c) {
  using enum tensor_content;
  const batch_extents batch(c);
  std::vector<planned_tensor> planned{{.name = "q",
                                       .type = c.q_type,
                                       .shape = {batch.total_q, c.heads_q, c.head_dim_qk},
                                       .order = memory_order(c.q_order),
                                       .content = queries,
                                       .has_any_strides = true},
                                      plan_pool(c, "k", c.kv_type, c.head_dim_qk, keys),
                                      plan_pool(c, "v", v_type(c), c.head_dim_v, values)};
  if (c.kv_descale == descale_kind::per_page)
    for (const auto& [name, content] : {std::pair{"k_descale", k_descales}, {"v_descale", v_descales}})
      planned.push_back({.name = name,
                         .type = dtype::f32,
                         .shape = {c.pool_pages, c.heads_kv},
                         .content = content,
                         .is_pool = true,
                         .has_any_strides = true});
  plan_tables(c, planned);
  if (batch.num_seqs > 0 && c.sequences.front().prefix_offset)
    planned.push_back({.name = "prefix_offset",
                       .type = dtype::i32,
                       .shape = {batch.num_seqs},
                       .content = prefix_offsets,
                       .is_optional = true});
  if (c.bias_type != dtype::none)
    planned.push_back({.name = "bias",
                       .type = c.bias_type,
                       .shape = {c.heads_q, batch.total_q, batch.max_k},
                       .content = bias,
                       .has_any_strides = true,
                       .shared_dimension = c.bias_shared == bias_sharing::heads  ? 0
                                           : c.bias_shared == bias_sharing::rows ? 1
                                                                                 : -1});
  if (c.sinks)
    planned.push_back(
        {.name = "sinks", .type = dtype::f32, .shape = {c.heads_q}, .content = sinks, .is_optional = true});
  return planned;
}

std::vector<planned_tensor> outputs(const problem& planned) {
  const std::int64_t rows = planned.total_q, heads = planned.heads_q, dim = planned.head_dim_v;
  const std::int64_t splits = planned.num_splits;
  std::vector<planned_tensor> all{{"o", planned.o_type, {rows, heads, dim}}, {"lse", dtype::f32, {rows, heads}}};
  if (splits > 1) {
    all.push_back({"o_partial", dtype::f32, {splits, rows, heads, dim}});
    all.push_back({"lse_partial", dtype::f32, {splits, rows, heads}});
  }
  return all;
}

void check_fields(const attention_case& c) {
  if (c.padding_rows == 0) return;
  if (c.batching == q_batching::batch) refuse("padding_rows", "in batch mode every row belongs to a sequence");
  constexpr std::int32_t most = 65536;
  check_range("padding_rows", c.padding_rows, 0, most);
  check_range("padding_rows", batch_extents(c).total_q, 0, std::numeric_limits<std::int32_t>::max());
}

key_range live_keys(const attention_case& c, const sequence& s) {
  if (s.q == 0 || s.k == 0) return {};
  return visibility_of(c).seen(first_position(s), first_position(s) + s.q - 1, s.k);
}

std::int64_t pair_cost(const attention_case& c) {
  return std::int64_t{c.heads_q} * (c.head_dim_qk + c.head_dim_v);
}

/// With what contract.hpp does not define the arithmetic of a kernel that quantises P.
std::string contract_fault(const contract& c, const problem& p) {
  if (const double largest = oracle::largest(c.p_type); !(std::ldexp(1.0, c.p_shift + c.rescale_slack) <= largest))
    return fmt::format("p_shift is {} and rescale_slack {}, but the largest value of P's type is {}", c.p_shift,
                       c.rescale_slack, largest);
  if (c.order == tile_order::any) return {};
  const bool is_direct = p.soft_cap == 0.0F && p.bias_type == dtype::none;
  const double scale = static_cast<double>(p.scale) * static_cast<double>(p.q_scale) * static_cast<double>(p.k_scale);
  if (c.fuses_logits != 0 && !(is_direct && scale > 0))
    return "fuses_logits needs a scale above 0, no soft cap and no bias";
  if (p.kv_descale == descale_kind::per_tensor) return {};
  if (c.tile_rows < 1) return fmt::format("tile_rows is {}, must be at least 1 with per-page descales", c.tile_rows);
  if (p.page_size % c.tile_keys != 0)
    return fmt::format("tiles of {} keys cross the ends of pages of {} keys, but every page has its own descale",
                       c.tile_keys, p.page_size);
  if (p.num_splits > 1) return "per-page descales need num_splits 1";
  return {};
}

constexpr own_field own_fields[] = {
    // The others have marks of their own: slots of -1, or batch mode.
    own<&attention_case::padding_rows>("padding_rows", "only attention has rows behind the last sequence's")};

void state(const attention_case& c, problem& p) {
  p.total_q += c.padding_rows;
}

}  // namespace

const operation attention_operation{
    .kind = operation_kind::attention,
    .name = "attention",
    .kernels = kernels,
    .capabilities = has_page_tables | has_mask | has_softmax | has_row_outputs | has_values,
    .results = results,
    .is_causal = false,
    .plain_batching = q_batching::group,
    .inputs = inputs,
    .outputs = outputs,
    .validate = check_fields,
    .live_keys = live_keys,
    .pair_cost = pair_cost,
    .contract_fault = contract_fault,
    .own_fields = own_fields,
    .state = state};

}  // namespace assay
