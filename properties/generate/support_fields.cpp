#include "properties/generate/support_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case/case.hpp"

namespace assay {
namespace {

template <class T>
struct field {
  const char* name;
  T assay_support::* value;
};

// In the order of the struct, which designated initialisers must keep.
constexpr field<assay_sizes> sizes[] = {
    {"head_dims", &assay_support::head_dims},
    {"head_dims_v", &assay_support::head_dims_v},
    {"page_sizes", &assay_support::page_sizes},
    {"group_sizes", &assay_support::group_sizes},
};
constexpr field<std::int64_t> bounds[] = {
    {"most_sequences", &assay_support::most_sequences},   {"most_rows", &assay_support::most_rows},
    {"most_total_rows", &assay_support::most_total_rows}, {"most_keys", &assay_support::most_keys},
    {"most_pages", &assay_support::most_pages},           {"most_pool_bytes", &assay_support::most_pool_bytes},
    {"most_heads_q", &assay_support::most_heads_q},       {"most_heads_kv", &assay_support::most_heads_kv},
    {"most_splits", &assay_support::most_splits},         {"most_columns", &assay_support::most_columns},
};
constexpr field<std::int32_t> flags[] = {
    {"input_alignment", &assay_support::input_alignment},
    {"output_alignment", &assay_support::output_alignment},
    {"no_causal", &assay_support::no_causal},
    {"no_noncausal", &assay_support::no_noncausal},
    {"no_window", &assay_support::no_window},
    {"no_prefix_offset", &assay_support::no_prefix_offset},
    {"no_soft_cap", &assay_support::no_soft_cap},
    {"no_sinks", &assay_support::no_sinks},
    {"no_bias_f32", &assay_support::no_bias_f32},
    {"no_bias_f16", &assay_support::no_bias_f16},
    {"no_bias_bf16", &assay_support::no_bias_bf16},
    {"no_shared_bias", &assay_support::no_shared_bias},
    {"no_infinite_bias", &assay_support::no_infinite_bias},
    {"no_page_descales", &assay_support::no_page_descales},
    {"no_tensor_descales", &assay_support::no_tensor_descales},
    {"no_q_scale", &assay_support::no_q_scale},
    {"no_k_scale", &assay_support::no_k_scale},
    {"no_v_scale", &assay_support::no_v_scale},
    {"no_other_scale", &assay_support::no_other_scale},
    {"no_nonpositive_scale", &assay_support::no_nonpositive_scale},
    {"no_extreme_scale", &assay_support::no_extreme_scale},
    {"no_unequal_head_dims", &assay_support::no_unequal_head_dims},
    {"no_block_table", &assay_support::no_block_table},
    {"no_page_list", &assay_support::no_page_list},
    {"no_spare_table_entries", &assay_support::no_spare_table_entries},
    {"no_group", &assay_support::no_group},
    {"no_batch", &assay_support::no_batch},
    {"no_nhd", &assay_support::no_nhd},
    {"no_hnd", &assay_support::no_hnd},
    {"no_unequal_layouts", &assay_support::no_unequal_layouts},
    {"no_packing", &assay_support::no_packing},
    {"no_q_heads_outermost", &assay_support::no_q_heads_outermost},
    {"no_q_transposed", &assay_support::no_q_transposed},
    {"no_input_margins", &assay_support::no_input_margins},
    {"no_output_margins", &assay_support::no_output_margins},
    {"no_far_strides", &assay_support::no_far_strides},
    {"no_split_count", &assay_support::no_split_count},
    {"no_workspace_budget", &assay_support::no_workspace_budget},
    {"no_lse", &assay_support::no_lse},
    {"no_partials", &assay_support::no_partials},
    {"no_padding_rows", &assay_support::no_padding_rows},
    {"no_empty_batch", &assay_support::no_empty_batch},
    {"no_sequences_without_rows", &assay_support::no_sequences_without_rows},
    {"no_sequences_without_keys", &assay_support::no_sequences_without_keys},
    {"no_rows_without_keys", &assay_support::no_rows_without_keys},
    {"no_live_nan", &assay_support::no_live_nan},
    {"no_live_infinity", &assay_support::no_live_infinity},
    {"no_wave_32", &assay_support::no_wave_32},
    {"no_wave_64", &assay_support::no_wave_64},
    {"no_plain_keys", &assay_support::no_plain_keys},
    {"no_preshuffled_keys", &assay_support::no_preshuffled_keys},
    {"no_filled_columns", &assay_support::no_filled_columns},
    {"no_kept_columns", &assay_support::no_kept_columns},
    {"no_fixed_contexts", &assay_support::no_fixed_contexts},
    {"no_variable_contexts", &assay_support::no_variable_contexts},
    {"no_plain_rows", &assay_support::no_plain_rows},
    {"no_rotary_half", &assay_support::no_rotary_half},
    {"no_rotary_interleaved", &assay_support::no_rotary_interleaved},
    {"no_same_bits", &assay_support::no_same_bits},
    {"no_refusals", &assay_support::no_refusals},
    {"no_dead_nan", &assay_support::no_dead_nan},
};

/// The last field stands at the struct's end, but for padding: support.h has none that the lists lack behind it.
constexpr std::size_t size_of_fields =
    offsetof(assay_support, types) + sizeof(assay_support::types) + std::size(sizes) * sizeof(assay_sizes) +
    std::size(bounds) * sizeof(std::int64_t) + std::size(flags) * sizeof(std::int32_t);
static_assert(size_of_fields <= sizeof(assay_support) &&
              sizeof(assay_support) - size_of_fields < alignof(assay_support));

std::string text_of(std::int64_t number) {
  return number == 0 ? "" : std::to_string(number);
}

std::string text_of(const assay_sizes& s) {
  std::vector<std::string> parts;
  std::vector<std::int32_t> values;
  for (const std::int32_t v : s.values) {
    if (v == 0) break;
    values.push_back(v);
  }
  if (!values.empty()) parts.push_back(fmt::format(".values = {{{}}}", fmt::join(values, ", ")));
  if (s.least != 0) parts.push_back(fmt::format(".least = {}", s.least));
  if (s.most != 0) parts.push_back(fmt::format(".most = {}", s.most));
  if (s.multiple_of != 0) parts.push_back(fmt::format(".multiple_of = {}", s.multiple_of));
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string name_of_type(std::int32_t type) {
  std::string name = boost::describe::enum_to_string(static_cast<dtype>(type), "none");
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return "ASSAY_TYPE_" + name;
}

std::string text_of(const assay_types (&types)[ASSAY_MOST_TYPES]) {
  std::vector<std::string> parts;
  for (const assay_types& t : types) {
    if (t.q == 0 && t.kv == 0 && t.o == 0) break;
    parts.push_back(fmt::format("{{{}, {}, {}}}", name_of_type(t.q), name_of_type(t.kv), name_of_type(t.o)));
  }
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace

std::string support_fields(const assay_support& takes) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) parts.push_back(fmt::format(".{} = {}", name, text));
  };
  add("types", text_of(takes.types));
  for (const auto& f : sizes) add(f.name, text_of(takes.*f.value));
  for (const auto& f : bounds) add(f.name, text_of(takes.*f.value));
  for (const auto& f : flags) add(f.name, text_of(std::int64_t{takes.*f.value}));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace assay
