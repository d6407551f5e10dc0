#include "properties/suite/scope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "properties/generate/support_table.hpp"
#include "properties/generate/support_text.hpp"
#include "properties/suite/sufficiency.hpp"

namespace assay {
namespace {

bool is_one(std::int64_t most) {
  return most == 1;
}

bool has_several_kv_heads(const assay_support& s) {
  return !is_one(s.most_heads_kv) && !is_one(s.most_heads_q);
}

bool has_groups(const assay_support& s) {
  return !is_one(s.most_heads_q) && nearest_of(s.group_sizes, 2, 2, s.most_heads_q == 0 ? 1024 : s.most_heads_q) > 0;
}

bool has_bias(const assay_support& s) {
  return s.no_bias_f32 == 0 || s.no_bias_f16 == 0 || s.no_bias_bf16 == 0;
}

/// What a thing asks of a kernel, beside its types and the tiles of its contract.
struct reach_need {
  const char* thing;
  bool (*is_met)(const assay_support& s);
};

template <auto Lacks>
bool takes_it(const assay_support& s) {
  return s.*Lacks == 0;
}

using s_ = assay_support;
constexpr reach_need needs[] = {
    // A planner that alone chooses may choose 1 for every case.
    {"filled_splits", [](const s_& s) { return s.no_split_count == 0 && !is_one(s.most_splits); }},
    {"empty_splits", [](const s_& s) { return s.no_split_count == 0 && !is_one(s.most_splits); }},
    {"no_sequences", takes_it<&s_::no_empty_batch>},
    {"no_rows", [](const s_& s) { return s.no_empty_batch == 0 && s.no_sequences_without_rows == 0; }},
    {"no_pages", [](const s_& s) { return s.no_sequences_without_keys == 0 && s.no_rows_without_keys == 0; }},
    {"several_sequences", [](const s_& s) { return !is_one(s.most_sequences); }},
    {"several_rows", [](const s_& s) { return !is_one(s.most_rows) && !is_one(s.most_total_rows); }},
    // Only with descales per page does a contract say how many rows a block has.
    {"row_blocks", [](const s_& s) { return s.no_page_descales == 0 && (s.most_rows == 0 || s.most_rows > 128); }},
    {"rows_without_keys", [](const s_& s) { return s.no_sequences_without_keys == 0 && s.no_rows_without_keys == 0; }},
    {"several_kv_heads", has_several_kv_heads},
    {"grouped_heads", has_groups},
    {"unequal_dims", takes_unequal_dims},
    {"causal", takes_it<&s_::no_causal>},
    {"hidden_keys", [](const s_& s) { return s.no_causal == 0 && (!is_one(s.most_rows) || s.no_prefix_offset == 0); }},
    {"no_mask", takes_it<&s_::no_noncausal>},
    {"window", takes_it<&s_::no_window>},
    {"prefix_offset", takes_it<&s_::no_prefix_offset>},
    {"soft_cap", takes_it<&s_::no_soft_cap>},
    {"bias", has_bias},
    {"sinks", takes_it<&s_::no_sinks>},
    {"live_nan", takes_it<&s_::no_live_nan>},
    {"live_infinity", takes_it<&s_::no_live_infinity>},
    {"scales", [](const s_& s) { return s.no_q_scale == 0 || s.no_k_scale == 0 || s.no_v_scale == 0; }},
    {"page_descales", takes_it<&s_::no_page_descales>},
    {"block_table", takes_it<&s_::no_block_table>},
    {"page_list", takes_it<&s_::no_page_list>},
    {"layout_nhd", takes_it<&s_::no_nhd>},
    {"layout_hnd", takes_it<&s_::no_hnd>},
    {"q_heads_outermost", takes_it<&s_::no_q_heads_outermost>},
    {"q_transposed", takes_it<&s_::no_q_transposed>},
    {"batch", takes_it<&s_::no_batch>},
    {"group", takes_it<&s_::no_group>},
    {"page_of_one", [](const s_& s) { return holds(s.page_sizes, 1); }},
    {"long_pages",
     [](const s_& s) {
       const std::int64_t most = s.most_keys == 0 ? 4096 : s.most_keys / 2;
       return nearest_of(s.page_sizes, 128, 65, most) > 0;
     }},
    {"shared_pages", [](const s_& s) { return s.most_keys == 0 || s.most_keys > 1; }},
    {"preshuffled", takes_it<&s_::no_preshuffled_keys>},
    {"fills_hidden", takes_it<&s_::no_filled_columns>},
    {"keeps_hidden", takes_it<&s_::no_kept_columns>},
    {"variable_contexts", takes_it<&s_::no_variable_contexts>},
    {"rotary_half", takes_it<&s_::no_rotary_half>},
    {"rotary_interleaved", takes_it<&s_::no_rotary_interleaved>},
    {"row_margin", takes_it<&s_::no_output_margins>},
    {"input_margin", takes_it<&s_::no_input_margins>},
    {"wave_32", takes_it<&s_::no_wave_32>},
    {"wave_64", takes_it<&s_::no_wave_64>},
    {"padding_rows", [](const s_& s) { return s.no_padding_rows == 0 && s.no_group == 0; }},
};

}  // namespace

bool can_reach(const std::string& kernel, const assay_support& takes, std::string_view thing) {
  if (thing == "no_rows" && operation_of(kernel) == of_mqa_logits) return takes.no_empty_batch == 0;
  for (const reach_need& n : needs)
    if (thing == n.thing) return n.is_met(takes);
  return true;
}

std::vector<std::string> verified_for(const suite_options& options, const suite_result& result) {
  std::vector<std::string> lines;
  if (options.shards > 1 || exit_status(options, result) != 0) return lines;
  for (const std::string& kernel : drawable(options.kernels)) {
    std::vector<std::string> types;
    for (const std::string& t : types_of_run(options, kernel)) {
      counts of_types;
      for (const auto& [key, cell] : result.table)
        if (std::get<0>(key) == kernel && std::get<2>(key) == t) of_types += cell;
      if (of_types.pass > 0) types.push_back(t);
    }
    if (types.empty()) continue;
    const std::string where = (options.waves != 0 ? fmt::format(", in waves of {}", options.waves) : "") +
                              (options.has_predicate ? ", where the library's predicate agrees" : "");
    lines.push_back(
        (options.supports.contains(kernel)
             ? fmt::format("{}: {}", kernel, support_line(kernel, support_of(options.supports, kernel), types))
             : fmt::format("{}: {}, all that the suite generates", kernel, fmt::join(types, ", "))) +
        where);
  }
  return lines;
}

}  // namespace assay
