/// A case: one small value that fully describes a run. It has a version; the corpus stores its JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe.hpp>

#include "kernels/problem.hpp"
#include "properties/system/errors.hpp"

namespace assay {

BOOST_DESCRIBE_ENUM(dtype, none, f32, f16, bf16, e4m3fn, e4m3fnuz, i8, i32, i64, e5m2, e5m2fnuz)
BOOST_DESCRIBE_ENUM(page_table_kind, block_table, page_list)
BOOST_DESCRIBE_ENUM(q_batching, group, batch)
BOOST_DESCRIBE_ENUM(descale_kind, per_tensor, per_page)
BOOST_DESCRIBE_ENUM(key_order, plain, preshuffled)
BOOST_DESCRIBE_ENUM(context_split, fixed, variable)
BOOST_DESCRIBE_ENUM(rotary_kind, none, half, interleaved)

/// Order of a K/V pool's dimensions in memory: [page, slot, head, dim] or [page, head, slot, dim].
BOOST_DEFINE_ENUM_CLASS(pool_layout, nhd, hnd)

/// Order of Q's dimensions in memory: rows outermost, heads outermost, or head_dim outermost (rocMLIR's trans_q).
BOOST_DEFINE_ENUM_CLASS(q_layout, rows, heads, transposed)

/// packed: K's and V's pages, and a row's Q, K and V, lie one after the other, as in one allocation. Each tensor then
/// has the gaps in which the others would lie.
BOOST_DEFINE_ENUM_CLASS(tensor_packing, separate, packed)

/// Whether all heads, or all query rows, share one bias: its stride along that dimension is 0.
BOOST_DEFINE_ENUM_CLASS(bias_sharing, none, heads, rows)

/// Recipes of data. They are frozen once shipped: a changed recipe gets a new name. properties/data/recipe.hpp
/// describes each one.
BOOST_DEFINE_ENUM_CLASS(fill_kind, normal, uniform, constant, page_tagged, saturating, ascending_maxima,
                        heavy_tail_tile, cancelling, largest, subnormal, rounding_ties, long_tail, even_weights,
                        far_logits)

/// What a bias holds, and what sinks are: recipes as well, see properties/data/recipe.hpp.
BOOST_DEFINE_ENUM_CLASS(bias_kind, normal, holes, left_padded, lowest, steep)
BOOST_DEFINE_ENUM_CLASS(sink_kind, normal, large, huge)
/// How large per-page descales are: beside descale_ratio, which says how neighbours differ.
BOOST_DEFINE_ENUM_CLASS(descale_size, near_1, least, tiny, near_new_rows)

/// Live numbers that are not finite; properties/data/live_specials.hpp says where. Types without infinities have NaN
/// alone.
BOOST_DEFINE_ENUM_CLASS(special_kind, none, nans, infinities, both)

/// Contents of dead memory: tail slots, unreferenced pages, table entries past the last page, hidden keys' bias.
BOOST_DEFINE_ENUM_CLASS(poison_kind, nan, inf, huge, zero)

BOOST_DEFINE_ENUM_CLASS(schedule_kind, round_robin, reverse, random, pct)

/// One sequence: its query rows, its keys, and the physical pages of its keys in order: ceil(k / page_size) of them.
struct sequence {
  std::int32_t q = 1;
  std::int32_t k = 1;
  std::optional<std::int32_t> prefix_offset;  ///< given for all sequences of a case or for none
  std::vector<std::int64_t> pages;
  bool operator==(const sequence&) const = default;
};
BOOST_DESCRIBE_STRUCT(sequence, (), (q, k, prefix_offset, pages))

/// Sets one element of an input tensor, by its logical index, to a bit pattern of its type.
struct override_bits {
  std::string tensor;
  std::vector<std::int64_t> index;
  std::uint32_t bits = 0;
  bool operator==(const override_bits&) const = default;
};
BOOST_DESCRIBE_STRUCT(override_bits, (), (tensor, index, bits))

/// The recipe of the data.
struct data_recipe {
  fill_kind fill = fill_kind::normal;
  std::uint64_t seed = 1;
  poison_kind poison = poison_kind::nan;
  float descale_ratio = 1.0F;  ///< between the per-page descales of neighbouring pages, up or down; 1: all equal
  descale_size descales = descale_size::near_1;
  bias_kind bias = bias_kind::normal;
  sink_kind sinks = sink_kind::normal;
  special_kind specials = special_kind::none;
  std::vector<override_bits> overrides;
  bool operator==(const data_recipe&) const = default;
};
BOOST_DESCRIBE_STRUCT(data_recipe, (), (fill, seed, poison, descale_ratio, descales, bias, sinks, specials, overrides))

/// The schedule of the cpu platform.
struct schedule_recipe {
  schedule_kind kind = schedule_kind::round_robin;
  std::uint64_t seed = 0;
  std::int32_t depth = 3;       ///< priority change points of pct
  std::int32_t wave_size = 64;  ///< 32 or 64
  bool operator==(const schedule_recipe&) const = default;
};
BOOST_DESCRIBE_STRUCT(schedule_recipe, (), (kind, seed, depth, wave_size))

/// Everything. Field order is the order of the JSON form; fields at their default are not written.
struct attention_case {
  std::int32_t version = 1;
  std::string why;  ///< the reason for the case; required in the corpus
  std::string kernel = "split_kv";
  dtype q_type = dtype::f16;
  dtype kv_type = dtype::f16;  ///< of K; V too, except that int8 K goes with f16 V
  dtype o_type = dtype::f16;
  std::int32_t heads_q = 1;
  std::int32_t heads_kv = 1;
  std::int32_t head_dim_qk = 64;
  std::int32_t head_dim_v = 64;
  std::int32_t page_size = 16;
  std::int64_t pool_pages = 0;  ///< pages in the pool; every live id is below it
  pool_layout layout = pool_layout::nhd;
  bool v_has_other_layout = false;  ///< V's heads and slots lie in the other order than K's
  tensor_packing packing = tensor_packing::separate;
  q_layout q_order = q_layout::rows;
  page_table_kind page_table = page_table_kind::block_table;
  q_batching batching = q_batching::group;  ///< batch: all sequences have as many query rows
  std::int32_t padding_rows = 0;            ///< query rows behind the last sequence's; attention in group mode
  descale_kind kv_descale = descale_kind::per_tensor;
  std::int32_t spare_table_entries = 0;  ///< poisoned table entries of each sequence, after its last page
  bool causal = false;
  std::int32_t window = 0;
  float scale = 1.0F;
  float q_scale = 1.0F;
  float k_scale = 1.0F;
  float v_scale = 1.0F;
  float soft_cap = 0.0F;
  dtype bias_type = dtype::none;
  bias_sharing bias_shared = bias_sharing::none;
  bool sinks = false;
  key_order k_order = key_order::plain;  ///< these and fills_hidden: mqa_logits only
  context_split split_contexts = context_split::fixed;
  std::int32_t max_model_len = 0;           ///< columns of logits
  std::int32_t row_margin = 0;              ///< gap elements between the rows of every output and workspace
  std::int32_t input_margin = 0;            ///< the same for inputs, poisoned; see tensor_plan.hpp
  std::int32_t far_dimension = 0;           ///< 0, or the dimension (from 1) whose indices lie far apart: ditto
  bool fills_hidden = false;                ///< columns of hidden keys become -inf
  rotary_kind rotary = rotary_kind::none;   ///< append_kv only
  std::int32_t num_splits = 0;              ///< 0: the library's planner chooses
  std::int64_t workspace_budget_bytes = 0;  ///< 0: the library's own budget
  std::vector<sequence> sequences;
  data_recipe data;
  schedule_recipe schedule;
  bool operator==(const attention_case&) const = default;
};
BOOST_DESCRIBE_STRUCT(attention_case, (),
                      (version, why, kernel, q_type, kv_type, o_type, heads_q, heads_kv, head_dim_qk, head_dim_v,
                       page_size, pool_pages, layout, v_has_other_layout, packing, q_order, page_table, batching,
                       padding_rows, kv_descale, spare_table_entries, causal, window, scale, q_scale, k_scale, v_scale,
                       soft_cap, bias_type, bias_shared, sinks, k_order, split_contexts, max_model_len, row_margin,
                       input_margin, far_dimension, fills_hidden, rotary, num_splits, workspace_budget_bytes, sequences,
                       data, schedule))

/// V's type: K's, except that int8 K goes with f16 V.
inline dtype v_type(const attention_case& c) {
  return c.kv_type == dtype::i8 ? dtype::f16 : c.kv_type;
}

/// The scalar problem that a case states (num_splits as the case has it: 0 is the planner's).
problem to_problem(const attention_case& c);

/// Throws case_error unless the case is well formed: legal types, sizes that are not negative and do not overflow, the
/// right number of pages, pages inside the pool, overrides inside their tensors. No single kernel supports every legal
/// case.
void validate(const attention_case& c);

/// Whether validate() accepts the case.
bool is_valid(const attention_case& c);

/// JSON text, two-space indented, scalar lists on one line; decode(encode(c)) == c.
std::string to_json(const attention_case& c);

/// Parses and validates. `origin` (a file name) begins every error. Unknown fields are errors. Throws case_error.
attention_case from_json(std::string_view text, std::string_view origin);

}  // namespace assay
