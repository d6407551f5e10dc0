#include "properties/run/reach.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/live_specials.hpp"

namespace assay {
namespace {

/// Tiles of the contract that the sequence's keys fill or begin.
std::int64_t tiles_of(const sequence& s, const execution& ran) {
  return pages_for(s.k, std::max(ran.declared.tile_keys, 1));
}

std::int64_t splits_of(const execution& ran) {
  return std::max(ran.planned.num_splits, 1);
}

/// Splits that have keys of the sequence.
std::int64_t filled_splits(const sequence& s, const execution& ran) {
  const std::int64_t tiles = tiles_of(s, ran);
  return tiles == 0 ? 0 : pages_for(tiles, pages_for(tiles, splits_of(ran)));
}

template <std::int64_t tiles>
bool has_tiles(const attention_case& c, const execution& ran) {
  return std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.q > 0 && tiles_of(s, ran) >= tiles; });
}

bool has_filled_splits(const attention_case& c, const execution& ran) {
  return std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.q > 0 && filled_splits(s, ran) >= 2; });
}

bool has_empty_splits(const attention_case& c, const execution& ran) {
  return std::ranges::any_of(c.sequences,
                             [&](const sequence& s) { return s.k > 0 && filled_splits(s, ran) < splits_of(ran); });
}

bool has_several_rows(const attention_case& c, const execution& /*ran*/) {
  return std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q > 1; });
}

bool has_row_blocks(const attention_case& c, const execution& ran) {
  // Blocks are as of usual kernels at least: tile_rows may be a wave's, and says nothing where the order is open.
  const std::int32_t rows = std::max(64, ran.declared.tile_rows);
  const bool has_blocks = ran.declared.order == tile_order::any || ran.declared.tile_rows > 0;
  return has_blocks && std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.q > rows; });
}

bool has_rows_without_keys(const attention_case& c, const execution& /*ran*/) {
  return std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q > 0 && s.k == 0; });
}

bool has_hidden_keys(const attention_case& c, const execution& /*ran*/) {
  return visibility_of(c).is_causal &&
         std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q > 0 && first_position(s) < s.k - 1; });
}

bool has_no_rows(const attention_case& c, const execution& /*ran*/) {
  return !c.sequences.empty() && std::ranges::all_of(c.sequences, [](const sequence& s) { return s.q == 0; });
}

bool has_no_pages(const attention_case& c, const execution& ran) {
  return c.pool_pages == 0 && !c.sequences.empty() && !has_no_rows(c, ran);
}

bool has_shared_pages(const attention_case& c, const execution& /*ran*/) {
  std::set<std::int64_t> seen;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages)
      if (!seen.insert(page).second) return true;
  return false;
}

/// Byte offsets that 32 bits do not hold.
bool has_high_pages(const attention_case& c, const execution& /*ran*/) {
  const std::int64_t page_bytes = std::int64_t{c.page_size} * c.heads_kv * c.head_dim_qk * size_bytes(c.kv_type);
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages)
      if (page >= (std::int64_t{1} << 31) / std::max<std::int64_t>(1, page_bytes)) return true;
  return false;
}

bool has_descales(const attention_case& c, const execution& /*ran*/) {
  return c.kv_descale == descale_kind::per_page && c.data.descale_ratio != 1.0F;
}

bool has_scales(const attention_case& c, const execution& /*ran*/) {
  return c.q_scale != 1.0F || c.k_scale != 1.0F || c.v_scale != 1.0F;
}

bool has_long_pages(const attention_case& c, const execution& ran) {
  return c.page_size > ran.declared.tile_keys && ran.declared.tile_keys > 0 &&
         std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.k > c.page_size; });
}

constexpr reachable_thing table[] = {
    {"two_tiles", "two tiles of keys", has_tiles<2>},
    {"three_tiles", "three tiles of keys and more", has_tiles<3>},
    {"filled_splits", "two splits that have keys", has_filled_splits},
    {"empty_splits", "a split without keys", has_empty_splits},
    {"no_sequences", "no sequence", [](auto& c, auto&) { return c.sequences.empty(); }},
    {"no_rows", "sequences without any query row", has_no_rows},
    {"no_pages", "a pool without pages, and rows without keys", has_no_pages},
    {"several_sequences", "several sequences", [](auto& c, auto&) { return c.sequences.size() > 1; }},
    {"several_rows", "several query rows in a sequence", has_several_rows},
    {"row_blocks", "more query rows than a block has", has_row_blocks},
    {"rows_without_keys", "a row in a sequence without keys", has_rows_without_keys},
    {"several_kv_heads", "several kv heads", [](auto& c, auto&) { return c.heads_kv > 1; }},
    {"grouped_heads", "several query heads for a kv head", [](auto& c, auto&) { return c.heads_q > c.heads_kv; }},
    {"unequal_dims", "head dims of K and V that differ", [](auto& c, auto&) { return c.head_dim_qk != c.head_dim_v; }},
    {"causal", "a causal mask", [](auto& c, auto&) { return c.causal; }},
    {"no_mask", "no mask", [](auto& c, auto&) { return !c.causal && c.window == 0; }},
    {"window", "a sliding window", [](auto& c, auto&) { return c.window > 0; }},
    {"prefix_offset", "prefix offsets",
     [](auto& c, auto&) { return !c.sequences.empty() && c.sequences.front().prefix_offset.has_value(); }},
    {"soft_cap", "a soft cap", [](auto& c, auto&) { return c.soft_cap > 0; }},
    {"bias", "a bias", [](auto& c, auto&) { return c.bias_type != dtype::none; }},
    {"sinks", "sinks", [](auto& c, auto&) { return c.sinks; }},
    {"live_nan", "NaN among live data", [](auto& c, auto&) { return live_specials(c).nans() > 0; }},
    {"live_infinity", "infinities among live data", [](auto& c, auto&) { return live_specials(c).infinities() > 0; }},
    {"scales", "scales of whole tensors", has_scales},
    {"page_descales", "descales that differ between pages", has_descales},
    {"fp8", "FP8 keys", [](auto& c, auto&) { return is_fp8(c.kv_type); }},
    {"block_table", "a block table", [](auto& c, auto&) { return c.page_table == page_table_kind::block_table; }},
    {"page_list", "a page list", [](auto& c, auto&) { return c.page_table == page_table_kind::page_list; }},
    {"layout_nhd", "a pool in NHD order", [](auto& c, auto&) { return c.layout == pool_layout::nhd; }},
    {"layout_hnd", "a pool in HND order", [](auto& c, auto&) { return c.layout == pool_layout::hnd; }},
    {"q_heads_outermost", "Q with heads outermost", [](auto& c, auto&) { return c.q_order == q_layout::heads; }},
    {"q_transposed", "a transposed Q", [](auto& c, auto&) { return c.q_order == q_layout::transposed; }},
    {"batch", "batch mode", [](auto& c, auto&) { return c.batching == q_batching::batch; }},
    {"group", "group mode", [](auto& c, auto&) { return c.batching == q_batching::group; }},
    {"page_of_one", "pages of one key", [](auto& c, auto&) { return c.page_size == 1; }},
    {"long_pages", "several pages, each longer than a tile", has_long_pages},
    {"shared_pages", "a page in two places", has_shared_pages},
    {"high_pages", "a page at byte 2^31 of the pool or behind", has_high_pages},
    {"fills_hidden", "hidden columns that become -inf", [](auto& c, auto&) { return c.fills_hidden; }},
    {"keeps_hidden", "hidden columns that are kept", [](auto& c, auto&) { return !c.fills_hidden; }},
    {"preshuffled", "preshuffled keys", [](auto& c, auto&) { return c.k_order == key_order::preshuffled; }},
    {"variable_contexts", "parts of one length for all contexts",
     [](auto& c, auto&) { return c.split_contexts == context_split::variable; }},
    {"rotary_half", "rotary by halves", [](auto& c, auto&) { return c.rotary == rotary_kind::half; }},
    {"rotary_interleaved", "rotary by pairs", [](auto& c, auto&) { return c.rotary == rotary_kind::interleaved; }},
    {"row_margin", "gaps between the rows of outputs", [](auto& c, auto&) { return c.row_margin > 0; }},
    {"input_margin", "gaps between the rows of inputs", [](auto& c, auto&) { return c.input_margin > 0; }},
    {"wave_32", "waves of 32 lanes", [](auto& c, auto&) { return c.schedule.wave_size == 32; }},
    {"wave_64", "waves of 64 lanes", [](auto& c, auto&) { return c.schedule.wave_size == 64; }},
    {"other_schedules", "a schedule that is not round robin",
     [](auto& c, auto&) { return c.schedule.kind != schedule_kind::round_robin; }},
    {"order_free", "a contract that leaves the order open",
     [](auto&, auto& ran) { return ran.declared.order == tile_order::any; }},
    {"hidden_keys", "keys behind a row that a causal mask hides", has_hidden_keys},
    {"lse", "an LSE",
     [](auto&, auto& ran) { return std::ranges::find(ran.written.left_out, "lse") == ran.written.left_out.end(); }},
    {"rounded_p", "a P that is rounded", [](auto&, auto& ran) { return ran.declared.p_type != dtype::f32; }},
    {"short_tiles", "tiles of at most 64 keys",
     [](auto&, auto& ran) { return ran.declared.tile_keys > 0 && ran.declared.tile_keys <= 64; }},
    {"usual_tiles", "tiles of at most 1024 keys",
     [](auto&, auto& ran) { return ran.declared.tile_keys > 0 && ran.declared.tile_keys <= 1024; }},
    {"padding_rows", "rows behind the last sequence's", [](auto& c, auto&) { return c.padding_rows > 0; }},
};
static_assert(std::size(table) <= 64, "a reach_set has 64 bits");

}  // namespace

std::span<const reachable_thing> reachable() {
  return table;
}

reach_set reached_by(const attention_case& c, const execution& ran) {
  reach_set reached = 0;
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].holds(c, ran)) reached |= reach_set{1} << i;
  return reached;
}

reach_set reach_named(std::string_view names) {
  reach_set set = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto* at = std::ranges::find(table, name, [](const reachable_thing& t) { return std::string_view(t.name); });
    if (at == std::end(table)) throw std::invalid_argument("nothing reachable has the name " + std::string(name));
    set |= reach_set{1} << (at - table);
  }
  return set;
}

}  // namespace assay
