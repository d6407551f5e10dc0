// The features of a case, as pairs of them are counted.
#include <algorithm>
#include <boost/describe.hpp>
#include <cmath>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/case/types.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/coverage.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = space_walker::tile_keys;

const sequence& longest_of(const attention_case& c) {
  return *std::ranges::max_element(c.sequences, {}, &sequence::k);
}
std::int64_t tiles_of(const attention_case& c) {
  return pages_for(longest_of(c).k, tile_keys);
}
std::int64_t most_rows(const attention_case& c) {
  return std::ranges::max_element(c.sequences, {}, &sequence::q)->q;
}

/// The number of the first bound that the value does not exceed; the number of bounds, where it exceeds all.
int step_of(std::int64_t value, std::initializer_list<std::int64_t> bounds) {
  return static_cast<int>(std::ranges::lower_bound(bounds, value) - bounds.begin());
}

/// Where a length ends relative to a unit.
int end_within(std::int64_t length, std::int64_t unit) {
  if (length == 0) return 0;
  if (length % unit == 0) return 1;
  return length % unit == 1 ? 2 : length % unit == unit - 1 ? 3 : 4;
}
const std::vector<std::string> ends{"none", "full", "one key", "all but one", "part"};
const std::vector<std::string> off_on{"off", "on"};

template <auto Field>
int value_of_field(const attention_case& c) {
  return static_cast<int>(c.*Field);
}
template <typename Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enum>>([&](auto d) { names.emplace_back(d.name); });
  return names;
}
template <auto Field>
case_feature of_field(const char* name) {
  using field = std::remove_cvref_t<decltype(attention_case{}.*Field)>;
  if constexpr (std::is_enum_v<field>)
    return {name, names_of<field>(), value_of_field<Field>};
  else
    return {name, off_on, value_of_field<Field>};
}

int types(const attention_case& c) {
  const kernel_space* known = find_kernel_space(c.kernel);
  if (known == nullptr) return 0;
  const type_choice now{c.q_type, c.kv_type, c.o_type};
  return static_cast<int>(std::ranges::find(known->types, now) - known->types.begin());
}

int batch_style(const attention_case& c) {
  if (c.sequences.size() == 1) return 0;
  const auto is_short = [](const sequence& s) { return s.k < tile_keys; };
  const auto shorts = std::ranges::count_if(c.sequences, is_short);
  const auto all = static_cast<std::ptrdiff_t>(c.sequences.size());
  if (shorts == all - 1) return 1;
  if (shorts == all) return 2;
  const std::int64_t most = longest_of(c).k;
  const bool aligned = most % tile_keys == 0 || most % c.page_size == 0;
  const bool others_not = std::ranges::any_of(c.sequences, [&](const sequence& s) { return s.k % tile_keys != 0; });
  return aligned && others_not ? 3 : 4;
}

int row_style(const attention_case& c) {
  const bool any_empty = std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q == 0; });
  const bool all_one = std::ranges::all_of(c.sequences, [](const sequence& s) { return s.q == 1; });
  return all_one ? 0 : any_empty ? 1 : 2;
}

int splits(const attention_case& c) {
  const std::int64_t tiles = tiles_of(c);
  if (c.num_splits < 2) return c.num_splits;
  return c.num_splits > tiles ? 4 : c.num_splits == tiles ? 3 : 2;
}

int page_ids(const attention_case& c) {
  constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;
  if (c.pool_pages * c.page_size * c.heads_kv * c.head_dim_qk * size_bytes(c.kv_type) > two_to_31) return 3;
  std::int64_t next = 0, all = 0;
  bool ascending = true;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages) ascending = ascending && page == next++, ++all;
  return ascending ? 0 : static_cast<std::int64_t>(pages_in_use(c).size()) == all ? 1 : 2;
}

int window(const attention_case& c) {
  if (c.window == 0) return 0;
  return c.window < tile_keys ? 1 : c.window > longest_of(c).k ? 3 : 2;
}

int prefix(const attention_case& c) {
  const sequence& s = longest_of(c);
  if (!s.prefix_offset) return 0;
  return *s.prefix_offset < 0 ? 1 : *s.prefix_offset <= s.k ? 2 : 3;
}

int dims(const attention_case& c) {
  if (c.head_dim_qk != c.head_dim_v) return 2;
  return c.head_dim_qk == 64 ? 0 : 1;
}

int sign_of(float scale, float usual) {
  if (scale <= 0) return scale == 0 ? 1 : 2;
  return scale > 1e4F * usual || scale < 1e-4F * usual ? 3 : 0;
}
const std::vector<std::string> signs{"usual", "zero", "negative", "extreme"};

int sinks(const attention_case& c) {
  return c.sinks ? 1 + static_cast<int>(c.data.sinks) : 0;
}
int bias(const attention_case& c) {
  return c.bias_type == dtype::none ? 0 : 1 + static_cast<int>(c.data.bias);
}
int bias_type(const attention_case& c) {
  switch (c.bias_type) {
    case dtype::f32: return 1;
    case dtype::f16: return 2;
    case dtype::bf16: return 3;
    default: return 0;
  }
}

int descales(const attention_case& c) {
  if (c.kv_descale == descale_kind::per_tensor) return 0;
  const float ratio = c.data.descale_ratio;
  return ratio == 1 ? 1 : ratio < 1.05F ? 2 : 3;
}

std::vector<case_feature> shape_features() {
  return {
      {"types", {"1", "2", "3", "4", "5", "6", "7", "others"}, types},
      {"sequences",
       {"one", "two", "to 8", "to 32", "more"},
       [](const attention_case& c) { return step_of(static_cast<std::int64_t>(c.sequences.size()), {1, 2, 8, 32}); }},
      {"batch", {"one sequence", "one long", "all short", "longest aligned", "several long"}, batch_style},
      {"rows of a batch", {"one each", "some none", "several"}, row_style},
      {"most rows",
       {"none", "one", "below 16", "16", "below 64", "64", "to 130", "more"},
       [](const attention_case& c) { return step_of(most_rows(c), {0, 1, 15, 16, 63, 64, 130}); }},
      {"tiles",
       {"none", "one", "two", "three", "to 8", "to 128", "more"},
       [](const attention_case& c) { return step_of(tiles_of(c), {0, 1, 2, 3, 8, 128}); }},
      {"last tile", ends, [](const attention_case& c) { return end_within(longest_of(c).k, tile_keys); }},
      {"last page", ends, [](const attention_case& c) { return end_within(longest_of(c).k, c.page_size); }},
      {"page",
       {"one key", "below a tile", "a tile", "above", "thousands"},
       [](const attention_case& c) { return step_of(c.page_size, {1, 63, 64, 1024}); }},
      {"splits", {"planner's", "one", "fewer than tiles", "as many as tiles", "more than tiles"}, splits},
      {"page ids", {"ascending", "different", "shared", "high"}, page_ids},
      {"group",
       {"1", "to 4", "to 8", "to 16", "more"},
       [](const attention_case& c) { return step_of(c.heads_q / c.heads_kv, {1, 4, 8, 16}); }},
      {"kv heads", {"1", "to 8", "more"}, [](const attention_case& c) { return step_of(c.heads_kv, {1, 8}); }},
      {"head dims", {"64", "equal", "different"}, dims},
  };
}

std::vector<case_feature> kind_features() {
  using a = attention_case;
  return {
      of_field<&a::causal>("causal"),
      {"window", {"none", "within a tile", "within the keys", "beyond"}, window},
      {"prefix", {"none", "negative", "within the keys", "beyond"}, prefix},
      {"scale", signs, [](const a& c) { return sign_of(c.scale, 0.1F); }},
      {"v_scale", signs, [](const a& c) { return sign_of(c.v_scale, 0.1F); }},
      {"soft cap", off_on, [](const a& c) { return c.soft_cap > 0 ? 1 : 0; }},
      {"bias", {"none", "normal", "holes", "left padded", "lowest", "steep"}, bias},
      {"bias type", {"none", "f32", "f16", "bf16"}, bias_type},
      of_field<&a::bias_shared>("bias shared"),
      {"sinks", {"none", "normal", "large", "huge"}, sinks},
      {"descales", {"per tensor", "equal", "near", "far"}, descales},
      of_field<&a::layout>("layout"),
      of_field<&a::v_has_other_layout>("layout of V"),
      of_field<&a::packing>("packing"),
      of_field<&a::q_order>("order of Q"),
      of_field<&a::page_table>("page table"),
      {"spare entries", {"none", "some", "wide"}, [](const a& c) { return step_of(c.spare_table_entries, {0, 100}); }},
      of_field<&a::batching>("batching"),
      of_field<&a::k_order>("order of K"),
      of_field<&a::split_contexts>("contexts"),
      of_field<&a::fills_hidden>("fills hidden"),
      of_field<&a::rotary>("rotary"),
      {"row margin", off_on, [](const a& c) { return c.row_margin > 0 ? 1 : 0; }},
      {"input margin", off_on, [](const a& c) { return c.input_margin > 0 ? 1 : 0; }},
      {"far dimension", off_on, [](const a& c) { return c.far_dimension > 0 ? 1 : 0; }},
      {"fill", names_of<fill_kind>(), [](const a& c) { return static_cast<int>(c.data.fill); }},
      {"descale sizes", names_of<descale_size>(), [](const a& c) { return static_cast<int>(c.data.descales); }},
      {"poison", names_of<poison_kind>(), [](const a& c) { return static_cast<int>(c.data.poison); }},
      {"specials", names_of<special_kind>(), [](const a& c) { return static_cast<int>(c.data.specials); }},
      {"schedule", names_of<schedule_kind>(), [](const a& c) { return static_cast<int>(c.schedule.kind); }},
      {"wave", {"64", "32"}, [](const a& c) { return c.schedule.wave_size == 32 ? 1 : 0; }},
      {"padding rows", off_on, [](const a& c) { return c.padding_rows > 0 ? 1 : 0; }},
  };
}

}  // namespace

std::span<const case_feature> case_features() {
  static const std::vector<case_feature> all = [] {
    std::vector<case_feature> features = shape_features();
    std::ranges::move(kind_features(), std::back_inserter(features));
    return features;
  }();
  return all;
}

std::vector<std::uint8_t> feature_values(const attention_case& c) {
  std::vector<std::uint8_t> values;
  if (c.sequences.empty()) {
    attention_case one = c;
    one.sequences.emplace_back();
    return feature_values(one);
  }
  for (const case_feature& f : case_features()) values.push_back(static_cast<std::uint8_t>(f.value_of(c)));
  return values;
}

}  // namespace assay
