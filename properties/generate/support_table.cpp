#include "properties/generate/support_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/case/types.hpp"
#include "properties/case/visibility.hpp"
#include "properties/data/recipe.hpp"

namespace assay {
namespace {

bool is_extreme(float x) {
  const float size = std::fabs(x);
  return size != 0 && (size > 0x1p30F || size < 0x1p-30F);
}

bool has_extreme_scales(const attention_case& c) {
  return is_extreme(c.scale) || is_extreme(c.q_scale) || is_extreme(c.k_scale) || is_extreme(c.v_scale) ||
         c.data.descales == descale_size::least || c.data.descales == descale_size::tiny;
}

void take_extreme_scales(attention_case& c) {
  c.data.descales = descale_size::near_1;
  set_usual_scales(c);
}

void take_nonpositive_scales(attention_case& c) {
  if (!(c.scale > 0)) c.scale = c.scale == 0 ? usual_scale(c) : -c.scale;
  if (!(c.v_scale > 0)) c.v_scale = c.v_scale == 0 ? 1.0F : -c.v_scale;
}

bool has_infinite_bias(const attention_case& c) {
  return c.bias_type != dtype::none && (c.data.bias == bias_kind::holes || c.data.bias == bias_kind::left_padded);
}

template <dtype Type>
bool has_bias(const attention_case& c) {
  return c.bias_type == Type;
}

void take_bias(attention_case& c) {
  c.bias_type = dtype::none;
  c.bias_shared = bias_sharing::none;
  c.data.bias = bias_kind::normal;
}

/// Another type of bias would do as well; the table's order brings each to the first that the kernel takes.
template <dtype Next>
void retype_bias(attention_case& c) {
  if constexpr (Next == dtype::none)
    take_bias(c);
  else
    c.bias_type = Next;
}

void take_page_descales(attention_case& c) {
  c.kv_descale = descale_kind::per_tensor;
  c.data.descale_ratio = 1.0F;
  c.data.descales = descale_size::near_1;
  set_usual_scales(c);
}

void give_page_descales(attention_case& c) {
  c.kv_descale = descale_kind::per_page;
  c.data.descale_ratio = 1.1F;
  set_usual_scales(c);
}

bool has_no_row(const attention_case& c) {
  return std::ranges::all_of(c.sequences, [](const sequence& s) { return s.q == 0; });
}

bool has_sequence_without_rows(const attention_case& c) {
  return std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q == 0; });
}

bool has_sequence_without_keys(const attention_case& c) {
  return std::ranges::any_of(c.sequences, [](const sequence& s) { return s.k == 0; });
}

bool has_prefix_offset(const attention_case& c) {
  return !c.sequences.empty() && c.sequences.front().prefix_offset.has_value();
}

void take_prefix_offsets(attention_case& c) {
  for (sequence& s : c.sequences) s.prefix_offset.reset();
}

void to_batch(attention_case& c) {
  c.batching = q_batching::batch;
  c.padding_rows = 0;
  std::int32_t most = 0;
  for (const sequence& s : c.sequences) most = std::max(most, s.q);
  for (sequence& s : c.sequences) s.q = most;
}

/// K and V in one order, the given one.
template <pool_layout Order>
void lay_out(attention_case& c) {
  c.layout = Order;
  c.v_has_other_layout = false;
}

template <pool_layout Order>
bool has_layout(const attention_case& c) {
  return c.layout == Order || c.v_has_other_layout;
}

/// A field with one value, and what takes its place.
template <auto Field, auto Value>
bool is(const attention_case& c) {
  return c.*Field == Value;
}
template <auto Field, auto Value>
void set(attention_case& c) {
  c.*Field = Value;
}

/// The far dimension is outermost; the second one of Q, and what stands for a third, are its heads.
bool has_heads_outermost(const attention_case& c) {
  return c.q_order == q_layout::heads || c.far_dimension >= 2;
}
void take_heads_outermost(attention_case& c) {
  if (c.q_order == q_layout::heads) c.q_order = q_layout::rows;
  c.far_dimension = std::min(c.far_dimension, 1);
}

bool has_nan(const attention_case& c) {
  return c.data.specials == special_kind::nans || c.data.specials == special_kind::both;
}
bool has_infinity(const attention_case& c) {
  return c.data.specials == special_kind::infinities || c.data.specials == special_kind::both;
}
void take_nan(attention_case& c) {
  const bool takes_infinity = has_infinities(c.q_type) || has_infinities(v_type(c));
  c.data.specials =
      c.data.specials == special_kind::both && takes_infinity ? special_kind::infinities : special_kind::none;
}
void take_infinity(attention_case& c) {
  c.data.specials = c.data.specials == special_kind::both ? special_kind::nans : special_kind::none;
}

bool has_dead_nan(const attention_case& c) {
  return c.data.poison == poison_kind::nan || c.data.poison == poison_kind::inf;
}
template <poison_kind Kind>
void set_poison(attention_case& c) {
  c.data.poison = Kind;
}

using c_ = attention_case;
using s_ = assay_support;
constexpr std::uint8_t of_tables = of_attention | of_mqa_logits, of_values = of_attention | of_append_kv;

constexpr supported_feature table[] = {
    {"causal", &s_::no_causal, of_attention, is<&c_::causal, true>, set<&c_::causal, false>},
    {"not causal", &s_::no_noncausal, of_attention, is<&c_::causal, false>, set<&c_::causal, true>},
    {"window", &s_::no_window, of_attention, [](auto& c) { return c.window != 0; }, set<&c_::window, 0>},
    {"prefix offset", &s_::no_prefix_offset, of_attention, has_prefix_offset, take_prefix_offsets},
    {"soft cap", &s_::no_soft_cap, of_attention, [](auto& c) { return c.soft_cap != 0; },
     [](auto& c) { c.soft_cap = 0; }},
    {"sinks", &s_::no_sinks, of_attention, is<&c_::sinks, true>,
     [](auto& c) { c.sinks = false, c.data.sinks = sink_kind::normal; }},
    {"f32 bias", &s_::no_bias_f32, of_attention, has_bias<dtype::f32>, retype_bias<dtype::f16>},
    {"f16 bias", &s_::no_bias_f16, of_attention, has_bias<dtype::f16>, retype_bias<dtype::bf16>},
    {"bf16 bias", &s_::no_bias_bf16, of_attention, has_bias<dtype::bf16>, retype_bias<dtype::none>},
    {"shared bias", &s_::no_shared_bias, of_attention, [](auto& c) { return c.bias_shared != bias_sharing::none; },
     set<&c_::bias_shared, bias_sharing::none>},
    {"infinite bias", &s_::no_infinite_bias, of_attention, has_infinite_bias,
     [](auto& c) { c.data.bias = bias_kind::normal; }},
    {"descales per page", &s_::no_page_descales, of_values, is<&c_::kv_descale, descale_kind::per_page>,
     take_page_descales},
    {"descales per tensor", &s_::no_tensor_descales, of_values,
     [](auto& c) { return is_fp8(c.kv_type) && c.kv_descale == descale_kind::per_tensor; }, give_page_descales},
    {"extreme scales", &s_::no_extreme_scale, of_values, has_extreme_scales, take_extreme_scales},
    {"scales of 0 and below", &s_::no_nonpositive_scale, of_attention,
     [](auto& c) { return !(c.scale > 0) || !(c.v_scale > 0); }, take_nonpositive_scales},
    {"any softmax scale", &s_::no_other_scale, of_attention, [](auto& c) { return c.scale != usual_scale(c); },
     [](auto& c) { c.scale = usual_scale(c); }},
    {"q_scale", &s_::no_q_scale, of_attention, [](auto& c) { return c.q_scale != 1; }, set<&c_::q_scale, 1.0F>},
    {"k_scale", &s_::no_k_scale, of_values, [](auto& c) { return c.k_scale != 1; }, set<&c_::k_scale, 1.0F>},
    {"v_scale", &s_::no_v_scale, of_values, [](auto& c) { return c.v_scale != 1; }, set<&c_::v_scale, 1.0F>},
    {"unequal head dims", &s_::no_unequal_head_dims, of_values, [](auto& c) { return c.head_dim_qk != c.head_dim_v; },
     nullptr},
    {"block tables", &s_::no_block_table, of_tables, is<&c_::page_table, page_table_kind::block_table>,
     set<&c_::page_table, page_table_kind::page_list>},
    {"page lists", &s_::no_page_list, of_tables, is<&c_::page_table, page_table_kind::page_list>,
     set<&c_::page_table, page_table_kind::block_table>},
    {"spare table entries", &s_::no_spare_table_entries, of_tables, [](auto& c) { return c.spare_table_entries != 0; },
     set<&c_::spare_table_entries, 0>},
    {"group mode", &s_::no_group, of_attention, is<&c_::batching, q_batching::group>, to_batch},
    {"batch mode", &s_::no_batch, of_attention, is<&c_::batching, q_batching::batch>,
     set<&c_::batching, q_batching::group>},
    {"NHD pools", &s_::no_nhd, of_values, has_layout<pool_layout::nhd>, lay_out<pool_layout::hnd>},
    {"HND pools", &s_::no_hnd, of_values, has_layout<pool_layout::hnd>, lay_out<pool_layout::nhd>},
    {"unequal layouts", &s_::no_unequal_layouts, of_values, is<&c_::v_has_other_layout, true>,
     set<&c_::v_has_other_layout, false>},
    {"packed tensors", &s_::no_packing, of_all, is<&c_::packing, tensor_packing::packed>,
     set<&c_::packing, tensor_packing::separate>},
    {"Q by heads", &s_::no_q_heads_outermost, of_all, has_heads_outermost, take_heads_outermost},
    {"Q transposed", &s_::no_q_transposed, of_tables, is<&c_::q_order, q_layout::transposed>,
     set<&c_::q_order, q_layout::rows>},
    {"input margins", &s_::no_input_margins, of_all, [](auto& c) { return c.input_margin != 0; },
     set<&c_::input_margin, 0>},
    {"output margins", &s_::no_output_margins, of_tables, [](auto& c) { return c.row_margin != 0; },
     set<&c_::row_margin, 0>},
    {"far strides", &s_::no_far_strides, of_all, [](auto& c) { return c.far_dimension != 0; },
     set<&c_::far_dimension, 0>},
    {"numbers of splits", &s_::no_split_count, of_tables, [](auto& c) { return c.num_splits != 0; },
     set<&c_::num_splits, 0>},
    {"padding rows", &s_::no_padding_rows, of_attention, [](auto& c) { return c.padding_rows != 0; },
     set<&c_::padding_rows, 0>},
    {"empty batches", &s_::no_empty_batch, of_all, has_no_row, nullptr},
    {"sequences without rows", &s_::no_sequences_without_rows, of_all, has_sequence_without_rows, nullptr},
    {"sequences without keys", &s_::no_sequences_without_keys, of_all, has_sequence_without_keys, nullptr},
    {"rows without keys", &s_::no_rows_without_keys, of_tables, [](auto& c) { return !every_row_sees_a_key(c); },
     nullptr},
    {"live NaN", &s_::no_live_nan, of_all, has_nan, take_nan},
    {"live infinities", &s_::no_live_infinity, of_all, has_infinity, take_infinity},
    {"waves of 32", &s_::no_wave_32, of_all, [](auto& c) { return c.schedule.wave_size == 32; },
     [](auto& c) { c.schedule.wave_size = 64; }},
    {"waves of 64", &s_::no_wave_64, of_all, [](auto& c) { return c.schedule.wave_size == 64; },
     [](auto& c) { c.schedule.wave_size = 32; }},
    {"plain keys", &s_::no_plain_keys, of_mqa_logits, is<&c_::k_order, key_order::plain>,
     set<&c_::k_order, key_order::preshuffled>},
    {"preshuffled keys", &s_::no_preshuffled_keys, of_mqa_logits, is<&c_::k_order, key_order::preshuffled>,
     set<&c_::k_order, key_order::plain>},
    {"filled columns", &s_::no_filled_columns, of_mqa_logits, is<&c_::fills_hidden, true>,
     set<&c_::fills_hidden, false>},
    {"kept columns", &s_::no_kept_columns, of_mqa_logits, is<&c_::fills_hidden, false>, set<&c_::fills_hidden, true>},
    {"fixed contexts", &s_::no_fixed_contexts, of_mqa_logits, is<&c_::split_contexts, context_split::fixed>,
     set<&c_::split_contexts, context_split::variable>},
    {"variable contexts", &s_::no_variable_contexts, of_mqa_logits, is<&c_::split_contexts, context_split::variable>,
     set<&c_::split_contexts, context_split::fixed>},
    {"unrotated keys", &s_::no_plain_rows, of_append_kv, is<&c_::rotary, rotary_kind::none>,
     set<&c_::rotary, rotary_kind::half>},
    {"rotary by halves", &s_::no_rotary_half, of_append_kv, is<&c_::rotary, rotary_kind::half>,
     set<&c_::rotary, rotary_kind::interleaved>},
    {"rotary by pairs", &s_::no_rotary_interleaved, of_append_kv, is<&c_::rotary, rotary_kind::interleaved>,
     set<&c_::rotary, rotary_kind::none>},
    {"dead NaN", &s_::no_dead_nan, of_all, has_dead_nan, set_poison<poison_kind::huge>},
};

bool may_be_drawn(std::string_view kernel, const type_choice& t) {
  attention_case c;
  c.kernel = kernel;
  if (operation_of(c) == of_mqa_logits) c.batching = q_batching::batch;
  c.q_type = t.q, c.kv_type = t.kv, c.o_type = t.o;
  return is_valid(c);
}

}  // namespace

operation_set operation_of(std::string_view kernel) {
  switch (describe(kernel).kind) {
    case operation_kind::attention: return of_attention;
    case operation_kind::mqa_logits: return of_mqa_logits;
    case operation_kind::append_kv: break;
  }
  return of_append_kv;
}

operation_set operation_of(const attention_case& c) {
  return operation_of(std::string_view(c.kernel));
}

std::span<const supported_feature> supported_features() {
  return table;
}

float usual_scale(const attention_case& c) {
  return 1.0F / std::sqrt(static_cast<float>(c.head_dim_qk));
}

void set_usual_scales(attention_case& c) {
  const operation_set operation = operation_of(c);
  c.q_scale = c.k_scale = c.v_scale = 1.0F;
  if (operation == of_mqa_logits) return;
  const bool are_of_pages = operation == of_append_kv && c.kv_descale == descale_kind::per_page;
  if (!are_of_pages && size_bytes(c.kv_type) == 1) {
    c.k_scale = 1.0F / static_cast<float>(amplitude(c.kv_type));
    c.v_scale = 1.0F / static_cast<float>(amplitude(v_type(c)));
  }
  if (operation == of_append_kv) return;
  c.q_scale = 1.0F / static_cast<float>(amplitude(c.q_type));
  if (is_extreme(c.scale)) c.scale = usual_scale(c);
}

void give_types(attention_case& c, const type_choice& t) {
  c.q_type = t.q;
  c.kv_type = t.kv;
  c.o_type = t.o;
  if (!is_fp8(t.kv)) c.kv_descale = descale_kind::per_tensor;
  if (c.kv_descale == descale_kind::per_tensor) c.data.descale_ratio = 1.0F, c.data.descales = descale_size::near_1;
  set_usual_scales(c);
  if (!has_infinities(t.q) && !has_infinities(v_type(c)) && c.data.specials != special_kind::none)
    c.data.specials = special_kind::nans;
}

bool every_row_sees_a_key(const attention_case& c) {
  const visibility mask = visibility_of(c);
  return std::ranges::all_of(c.sequences, [&](const sequence& s) {
    if (s.q == 0) return true;
    // The rows that see a key follow each other: a causal mask hides all from the first ones, a window from the last.
    const std::int64_t first = first_position(s), last = first + s.q - 1;
    for (const std::int64_t p : {first, last})
      if (const key_range seen = mask.seen(p, s.k); seen.first >= seen.end) return false;
    return true;
  });
}

bool takes_unequal_dims(const assay_support& s) {
  if (s.no_unequal_head_dims != 0) return false;
  constexpr std::int64_t most = 1024, step = 8;
  for (std::int64_t k = step; k <= most; k += step)
    for (std::int64_t v = step; v <= most; v += step)
      if (k != v && holds(s.head_dims, k) && holds(head_dims_v_of(s), v)) return true;
  return false;
}

std::vector<type_choice> supported_types(std::string_view kernel, const assay_support& s) {
  std::vector<type_choice> all;
  const kernel_space* space = find_kernel_space(kernel);
  const std::vector<assay_types> declared = types_in(s);
  const auto as_choice = [](const assay_types& t) {
    return type_choice{static_cast<dtype>(t.q), static_cast<dtype>(t.kv), static_cast<dtype>(t.o)};
  };
  if (space != nullptr)
    for (const type_choice& t : space->types)
      if (declared.empty() || std::ranges::any_of(declared, [&](const assay_types& d) { return as_choice(d) == t; }))
        all.push_back(t);
  for (const assay_types& d : declared)
    if (const type_choice t = as_choice(d); std::ranges::find(all, t) == all.end() && may_be_drawn(kernel, t))
      all.push_back(t);
  // FP8 values have descales of one kind or the other; the logits' keys have scales of their own.
  if (s.no_page_descales != 0 && s.no_tensor_descales != 0 && operation_of(kernel) != of_mqa_logits)
    std::erase_if(all, [](const type_choice& t) { return is_fp8(t.kv); });
  return all;
}

std::vector<std::string> names_of_supported_types(std::string_view kernel, const assay_support& s) {
  std::vector<std::string> names;
  for (const type_choice& t : supported_types(kernel, s))
    if (std::string name = types_text(t.q, t.kv, t.o); std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  return names;
}

namespace {

std::string unsupported_extent(const assay_support& s, const attention_case& c) {
  std::int64_t rows = c.padding_rows, most_rows = 0, most_keys = 0;
  for (const sequence& one : c.sequences) {
    rows += one.q;
    most_rows = std::max<std::int64_t>(most_rows, one.q);
    most_keys = std::max<std::int64_t>(most_keys, one.k);
  }
  std::int64_t pool_bytes = 0;
  if (s.most_pool_bytes != 0)
    for (const planned_tensor& t : plan_tensors(c))
      if (t.content == tensor_content::keys || t.content == tensor_content::values)
        pool_bytes = std::max(pool_bytes, checked_bytes(t).value_or(INT64_MAX));
  const struct {
    std::int64_t is, most;
    const char* what;
  } extents[] = {{std::ssize(c.sequences), s.most_sequences, "sequences"},
                 {most_rows, s.most_rows, "query rows of a sequence"},
                 {rows, s.most_total_rows, "query rows"},
                 {most_keys, s.most_keys, "keys"},
                 {c.pool_pages, s.most_pages, "pages"},
                 {pool_bytes, s.most_pool_bytes, "bytes of a pool"},
                 {c.heads_q, s.most_heads_q, "query heads"},
                 {c.heads_kv, s.most_heads_kv, "kv heads"},
                 {c.num_splits, s.most_splits, "splits"},
                 {c.max_model_len, s.most_columns, "columns"}};
  for (const auto& e : extents)
    if (e.most != 0 && e.is > e.most) return fmt::format("{} {}", e.is, e.what);
  return {};
}

std::string unsupported_size(const assay_support& s, const attention_case& c) {
  const operation_set operation = operation_of(c);
  const bool has_values = operation != of_mqa_logits;
  if (!holds(s.head_dims, c.head_dim_qk)) return fmt::format("head_dim_qk {}", c.head_dim_qk);
  if (has_values && !holds(head_dims_v_of(s), c.head_dim_v)) return fmt::format("head_dim_v {}", c.head_dim_v);
  if (!holds(s.page_sizes, c.page_size)) return fmt::format("pages of {} keys", c.page_size);
  if (operation != of_append_kv && !holds(s.group_sizes, c.heads_q / c.heads_kv))
    return fmt::format("{} query heads for a kv head", c.heads_q / c.heads_kv);
  const std::int32_t in = std::max(s.input_alignment, 1), out = std::max(s.output_alignment, 1);
  const bool inputs_fit =
      c.head_dim_qk % in == 0 && (!has_values || c.head_dim_v % in == 0) && c.input_margin % in == 0;
  const bool outputs_fit = operation != of_attention || (c.head_dim_v % out == 0 && c.row_margin % out == 0);
  if (!inputs_fit) return fmt::format("rows of inputs that are not at multiples of {} elements", in);
  return outputs_fit ? "" : fmt::format("rows of outputs that are not at multiples of {} elements", out);
}

}  // namespace

std::string unsupported_by(const assay_support& s, const attention_case& c) {
  const operation_set operation = operation_of(c);
  for (const supported_feature& f : table)
    if (s.*f.lacks != 0 && (f.operations & operation) != 0 && f.has(c)) return f.name;
  if (const std::vector<assay_types> types = types_in(s); !types.empty()) {
    const auto is_of_case = [&](const assay_types& t) {
      return t.q == static_cast<std::int32_t>(c.q_type) && t.kv == static_cast<std::int32_t>(c.kv_type) &&
             t.o == static_cast<std::int32_t>(c.o_type);
    };
    if (!std::ranges::any_of(types, is_of_case)) return "types " + types_of(c);
  }
  if (std::string size = unsupported_size(s, c); !size.empty()) return size;
  return unsupported_extent(s, c);
}

}  // namespace assay
