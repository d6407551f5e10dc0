/// Appending to a paged KV cache.
///
/// Of each sequence `k` counts the keys after the call: its q rows become the keys at positions first_position() and
/// up. A row whose position is negative, or not below k, has no slot and is skipped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "properties/case/contract_ranges.hpp"
#include "properties/case/field_checks.hpp"
#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/own_fields.hpp"
#include "properties/case/planning.hpp"
#include "properties/case/slots.hpp"

namespace assay {
namespace {

constexpr const char* kernels[] = {"append_kv"};
constexpr const char* results[] = {"k", "v"};

/// Where a row goes. Skipped rows have any negative slot.
std::optional<std::int64_t> slot_index(const attention_case& c, const sequence& s, std::int64_t row,
                                       std::int64_t batch_row) {
  constexpr std::int64_t skipped[] = {-1, -2, std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int64_t>::min()};
  const std::int64_t slot = slot_of(c, s, row);
  return slot >= 0 ? slot : skipped[(static_cast<std::int64_t>(c.data.poison) + batch_row) % 4];
}

/// Those of skipped rows are dead.
std::optional<std::int64_t> position_of(const attention_case& c, const sequence& s, std::int64_t row,
                                        std::int64_t /*batch_row*/) {
  if (slot_of(c, s, row) < 0) return std::nullopt;
  return first_position(s) + row;
}

/// The angle of a position for a pair of elements is position * 10000^(-pair / pairs).
double frequency_of(std::int64_t pair, std::int64_t pairs) {
  return std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(pairs));
}

template <double of_angle(double)>
std::uint32_t rope_element(std::int64_t position, double frequency) {
  // Rounded to multiples of 2^-20: libraries differ in a sine's last bits, and cases say the same on every machine.
  const double value = of_angle(static_cast<double>(position) * frequency);
  return round_to_bits(dtype::f32, std::nearbyint(value * 0x1p20) * 0x1p-20);
}

/// Of the rows that are not skipped, ascending, each once.
std::vector<std::int64_t> positions_of(const attention_case& c) {
  std::set<std::int64_t> positions;
  for (const sequence& s : c.sequences)
    for (std::int64_t row = 0; row < s.q; ++row)
      if (slot_of(c, s, row) >= 0) positions.insert(first_position(s) + row);
  return {positions.begin(), positions.end()};
}

double cosine(double angle) {
  return std::cos(angle);
}
double sine(double angle) {
  return std::sin(angle);
}

void plan_rotary(const attention_case& c, std::int64_t rows, std::vector<planned_tensor>& planned) {
  using enum tensor_content;
  if (c.rotary == rotary_kind::none) return;
  planned.push_back(
      {.name = "positions", .type = dtype::i32, .shape = {rows}, .content = row_indices, .row_index = position_of});
  for (const auto& [name, element, margins] :
       {std::tuple{"rope_cos", &rope_element<cosine>, 1}, {"rope_sin", &rope_element<sine>, 2}})
    planned.push_back({.name = name,
                       .type = dtype::f32,
                       .shape = {rope_rows(c), c.head_dim_qk / 2},
                       .content = computed,
                       .has_free_rows = true,
                       .margins = margins,
                       .live_rows = positions_of,
                       .of_column = frequency_of,
                       .element = element});
}

std::vector<planned_tensor> inputs(const attention_case& c) {
  using enum tensor_content;
  const std::int64_t rows = batch_extents(c).total_q;
  std::vector<planned_tensor> planned;
  for (const auto& [name, dim, draw] : {std::tuple{"k_new", c.head_dim_qk, 0}, {"v_new", c.head_dim_v, 1}})
    planned.push_back({.name = name,
                       .type = c.q_type,
                       .shape = {rows, c.heads_kv, dim},
                       .order = memory_order(c.q_order),
                       .content = rows_of_any_size,
                       .margins = 1 + draw,
                       .draw = draw});
  planned.push_back(
      {.name = "slots", .type = dtype::i64, .shape = {rows}, .content = row_indices, .row_index = slot_index});
  plan_rotary(c, rows, planned);
  planned.push_back(plan_pool(c, "k", c.kv_type, c.head_dim_qk, keys));
  planned.push_back(plan_pool(c, "v", v_type(c), c.head_dim_v, values));
  planned[planned.size() - 2].role = planned.back().role = tensor_role::in_out;
  if (c.kv_descale == descale_kind::per_page)
    for (const auto& [name, content] : {std::pair{"k_descale", k_descales}, {"v_descale", v_descales}})
      planned.push_back({.name = name,
                         .type = dtype::f32,
                         .shape = {c.pool_pages, c.heads_kv},
                         .content = content,
                         .role = tensor_role::in_out,
                         .is_pool = true,
                         .has_any_strides = true,
                         .margins = content == k_descales ? 1 : 2});
  return planned;
}

std::vector<planned_tensor> outputs(const problem&) {
  return {};
}

void refuse_foreign_fields(const attention_case& c) {
  const attention_case plain;
  const auto refuse_if = [](bool is_set, const char* field) {
    if (is_set) refuse(field, "append_kv does not read it");
  };
  refuse_if(c.causal, "causal");
  refuse_if(c.window != 0, "window");
  refuse_if(c.scale != 1, "scale");
  refuse_if(c.q_scale != 1, "q_scale");
  refuse_if(c.soft_cap != 0, "soft_cap");
  refuse_if(c.bias_type != dtype::none, "bias_type");
  refuse_if(c.bias_shared != bias_sharing::none, "bias_shared");
  refuse_if(c.sinks, "sinks");
  refuse_if(c.num_splits > 1, "num_splits");
  refuse_if(c.page_table != plain.page_table, "page_table");
  refuse_if(c.spare_table_entries != 0, "spare_table_entries");
}

void check_fields(const attention_case& c) {
  refuse_foreign_fields(c);
  if (c.heads_q != c.heads_kv) refuse("heads_q", "append_kv needs heads_q equal to heads_kv");
  if (size_bytes(c.q_type) != 2) refuse("q_type", "append_kv takes new rows in f16 or bf16");
  if (c.kv_type == dtype::e5m2 || c.kv_type == dtype::e5m2fnuz)
    refuse("kv_type", "append_kv has no e5m2: caches differ in what they do with values beyond its range");
  if (c.q_order == q_layout::transposed) refuse("q_order", "append_kv needs new rows with contiguous elements");
  if (c.kv_descale == descale_kind::per_page && (c.k_scale != 1 || c.v_scale != 1))
    refuse("kv_descale", "per_page needs k_scale and v_scale 1");
  if (size_bytes(c.kv_type) != 1 && (c.k_scale != 1 || c.v_scale != 1))
    refuse("k_scale", "k_scale and v_scale must be 1 unless the pool is quantised");
  if (!(c.k_scale > 0)) refuse("k_scale", "must be above 0");
  if (!(c.v_scale > 0)) refuse("v_scale", "must be above 0");
  std::set<std::int64_t> seen;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages)
      if (!seen.insert(page).second)
        refuse("sequences", fmt::format("page {} is used twice: append_kv would write its slots twice", page));
}

/// The keys that were there before the call. Those behind the new rows are dead: no run may depend on them.
key_range live_keys(const attention_case&, const sequence& s) {
  const std::int64_t end = std::clamp<std::int64_t>(first_position(s), 0, s.k);
  return {0, end};
}

std::int64_t pair_cost(const attention_case& c) {
  return std::int64_t{c.heads_q} * (c.head_dim_qk + c.head_dim_v);
}

/// Checks the fields for rotation and quantisation.
std::string contract_fault(const contract& c, const problem&) {
  const bounded_field fields[] = {{"rotary_roundings", c.rotary_roundings + 0.0, 0, most_roundings},
                                  {"scale_roundings", c.scale_roundings + 0.0, 0, most_roundings},
                                  {"quantise_roundings", c.quantise_roundings + 0.0, 0, most_roundings},
                                  {"rescale_roundings", c.rescale_roundings + 0.0, 0, most_roundings}};
  return range_fault(fields);
}

constexpr own_field own_fields[] = {own<&attention_case::rotary>("rotary", "only append_kv rotates keys")};

void state(const attention_case& c, problem& p) {
  p.rotary = c.rotary;
}

bool twice_the_heads(problem& p) {
  p.heads_q = 2 * p.heads_kv;
  return true;
}

constexpr bad_value bad_values[] = {ASSAY_UNKNOWN_VALUES(rotary),
                                    {"heads_q twice heads_kv (append_kv needs them equal)", twice_the_heads}};

}  // namespace

std::int64_t rope_rows(const attention_case& c) {
  std::int64_t most = 1;
  for (const sequence& s : c.sequences) most = std::max<std::int64_t>(most, s.k);
  return most;
}

std::int64_t slot_of(const attention_case& c, const sequence& s, std::int64_t row) {
  const std::int64_t position = first_position(s) + row;
  if (position < 0 || position >= s.k) return -1;
  return s.pages[static_cast<std::size_t>(position / c.page_size)] * c.page_size + position % c.page_size;
}

const operation append_kv_operation{.kind = operation_kind::append_kv,
                                    .name = "append_kv",
                                    .kernels = kernels,
                                    .capabilities = has_slots | has_values,
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
                                    .state = state,
                                    .bad_values = bad_values};

}  // namespace assay
