#include "properties/case/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace assay {
namespace {

namespace json = boost::json;

/// Every field behind the types, in order and by kind.
template <typename T>
struct named_field {
  const char* name;
  T assay_support::* field;
  std::size_t offset;
};
#define ASSAY_FIELD(field) {#field, &assay_support::field, offsetof(assay_support, field)}
constexpr named_field<assay_sizes> size_fields[] = {
    ASSAY_FIELD(head_dims),
    ASSAY_FIELD(head_dims_v),
    ASSAY_FIELD(page_sizes),
    ASSAY_FIELD(group_sizes),
};
constexpr named_field<std::int64_t> extent_fields[] = {
    ASSAY_FIELD(most_sequences), ASSAY_FIELD(most_rows),       ASSAY_FIELD(most_total_rows), ASSAY_FIELD(most_keys),
    ASSAY_FIELD(most_pages),     ASSAY_FIELD(most_pool_bytes), ASSAY_FIELD(most_heads_q),    ASSAY_FIELD(most_heads_kv),
    ASSAY_FIELD(most_splits),    ASSAY_FIELD(most_columns),
};
constexpr named_field<std::int32_t> flag_fields[] = {
    ASSAY_FIELD(input_alignment),
    ASSAY_FIELD(output_alignment),
    ASSAY_FIELD(no_causal),
    ASSAY_FIELD(no_noncausal),
    ASSAY_FIELD(no_window),
    ASSAY_FIELD(no_prefix_offset),
    ASSAY_FIELD(no_soft_cap),
    ASSAY_FIELD(no_sinks),
    ASSAY_FIELD(no_bias_f32),
    ASSAY_FIELD(no_bias_f16),
    ASSAY_FIELD(no_bias_bf16),
    ASSAY_FIELD(no_shared_bias),
    ASSAY_FIELD(no_infinite_bias),
    ASSAY_FIELD(no_page_descales),
    ASSAY_FIELD(no_tensor_descales),
    ASSAY_FIELD(no_q_scale),
    ASSAY_FIELD(no_k_scale),
    ASSAY_FIELD(no_v_scale),
    ASSAY_FIELD(no_other_scale),
    ASSAY_FIELD(no_nonpositive_scale),
    ASSAY_FIELD(no_extreme_scale),
    ASSAY_FIELD(no_unequal_head_dims),
    ASSAY_FIELD(no_block_table),
    ASSAY_FIELD(no_page_list),
    ASSAY_FIELD(no_spare_table_entries),
    ASSAY_FIELD(no_group),
    ASSAY_FIELD(no_batch),
    ASSAY_FIELD(no_nhd),
    ASSAY_FIELD(no_hnd),
    ASSAY_FIELD(no_unequal_layouts),
    ASSAY_FIELD(no_packing),
    ASSAY_FIELD(no_q_heads_outermost),
    ASSAY_FIELD(no_q_transposed),
    ASSAY_FIELD(no_input_margins),
    ASSAY_FIELD(no_output_margins),
    ASSAY_FIELD(no_far_strides),
    ASSAY_FIELD(no_split_count),
    ASSAY_FIELD(no_workspace_budget),
    ASSAY_FIELD(no_lse),
    ASSAY_FIELD(no_partials),
    ASSAY_FIELD(no_padding_rows),
    ASSAY_FIELD(no_empty_batch),
    ASSAY_FIELD(no_sequences_without_rows),
    ASSAY_FIELD(no_sequences_without_keys),
    ASSAY_FIELD(no_rows_without_keys),
    ASSAY_FIELD(no_live_nan),
    ASSAY_FIELD(no_live_infinity),
    ASSAY_FIELD(no_wave_32),
    ASSAY_FIELD(no_wave_64),
    ASSAY_FIELD(no_plain_keys),
    ASSAY_FIELD(no_preshuffled_keys),
    ASSAY_FIELD(no_filled_columns),
    ASSAY_FIELD(no_kept_columns),
    ASSAY_FIELD(no_fixed_contexts),
    ASSAY_FIELD(no_variable_contexts),
    ASSAY_FIELD(no_plain_rows),
    ASSAY_FIELD(no_rotary_half),
    ASSAY_FIELD(no_rotary_interleaved),
    ASSAY_FIELD(no_same_bits),
    ASSAY_FIELD(no_refusals),
    ASSAY_FIELD(no_dead_nan),
};
#undef ASSAY_FIELD

template <typename T, std::size_t Count>
constexpr bool follow_each_other(const named_field<T> (&fields)[Count], std::size_t& end) {
  for (const named_field<T>& f : fields) {
    if (f.offset != end) return false;
    end += sizeof(T);
  }
  return true;
}

constexpr bool fill_the_struct() {
  std::size_t end = offsetof(assay_support, types) + sizeof(assay_support::types);
  return follow_each_other(size_fields, end) && follow_each_other(extent_fields, end) &&
         follow_each_other(flag_fields, end) &&
         sizeof(assay_support) - end < alignof(assay_support);  // what is left is padding
}
static_assert(fill_the_struct(), "a field of support.h is missing here, or has another place");

static_assert(ASSAY_TYPE_F32 == static_cast<int>(dtype::f32) && ASSAY_TYPE_F16 == static_cast<int>(dtype::f16) &&
              ASSAY_TYPE_BF16 == static_cast<int>(dtype::bf16) &&
              ASSAY_TYPE_E4M3FN == static_cast<int>(dtype::e4m3fn) &&
              ASSAY_TYPE_E4M3FNUZ == static_cast<int>(dtype::e4m3fnuz) &&
              ASSAY_TYPE_I8 == static_cast<int>(dtype::i8) && ASSAY_TYPE_TF32 == static_cast<int>(dtype::tf32) &&
              ASSAY_TYPE_E5M2 == static_cast<int>(dtype::e5m2) &&
              ASSAY_TYPE_E5M2FNUZ == static_cast<int>(dtype::e5m2fnuz));

bool is_end(const assay_types& t) {
  return t.q == 0 && t.kv == 0 && t.o == 0;
}

void check_sizes(const char* name, const assay_sizes& s) {
  const auto refuse = [&](const std::string& what) { throw case_error(fmt::format("{}: {}", name, what)); };
  for (const std::int32_t v : s.values)
    if (v < 0) refuse(fmt::format("{} is negative", v));
  if (s.least < 0 || s.most < 0 || s.multiple_of < 0) refuse("a bound is negative");
  if (s.most > 0 && s.least > s.most) refuse(fmt::format("least {} is above most {}", s.least, s.most));
}

void check_alignment(const char* name, std::int32_t value) {
  constexpr std::int32_t most = 16;
  if (value < 0 || value > most || (value & (value - 1)) != 0)
    throw case_error(fmt::format("{}: {} is not 0 or a power of two up to {}", name, value, most));
}

void check_types(const assay_support& s) {
  for (const assay_types& t : types_in(s))
    for (const std::int32_t type : {t.q, t.kv, t.o})
      if ((type < ASSAY_TYPE_F32 || type > ASSAY_TYPE_I8) && type != ASSAY_TYPE_E5M2 && type != ASSAY_TYPE_E5M2FNUZ)
        throw case_error(fmt::format("types: {} is not the number of a type", type));
}

/// Names the first field that the header does not allow.
void check(const assay_support& s) {
  check_types(s);
  check_alignment("input_alignment", s.input_alignment);
  check_alignment("output_alignment", s.output_alignment);
  for (const auto& f : size_fields) check_sizes(f.name, s.*f.field);
  for (const auto& f : extent_fields)
    if (s.*f.field < 0) throw case_error(fmt::format("{}: {} is negative", f.name, s.*f.field));
  for (const auto& f : flag_fields)
    if (std::string_view(f.name).starts_with("no_") && s.*f.field != 0 && s.*f.field != 1)
      throw case_error(fmt::format("{}: {} is not 0 or 1", f.name, s.*f.field));
}

json::array to_array(const std::int32_t (&values)[ASSAY_MOST_SIZES]) {
  json::array all;
  for (const std::int32_t v : values) {
    if (v == 0) break;  // the end of the list
    all.emplace_back(v);
  }
  return all;
}

json::object to_object(const assay_sizes& s) {
  json::object o;
  if (s.values[0] != 0) o["values"] = to_array(s.values);
  if (s.least != 0) o["least"] = s.least;
  if (s.most != 0) o["most"] = s.most;
  if (s.multiple_of != 0) o["multiple_of"] = s.multiple_of;
  return o;
}

std::int32_t number_in(const json::object& o, const char* key) {
  const json::value* v = o.if_contains(key);
  return v == nullptr ? 0 : v->to_number<std::int32_t>();
}

assay_sizes sizes_of(const json::object& o) {
  assay_sizes s{{}, number_in(o, "least"), number_in(o, "most"), number_in(o, "multiple_of")};
  if (const json::value* values = o.if_contains("values")) {
    std::size_t at = 0;
    for (const json::value& v : values->as_array())
      if (at < ASSAY_MOST_SIZES) s.values[at++] = v.to_number<std::int32_t>();
  }
  return s;
}

/// The nearest multiple of `step` in [lo, hi].
std::int64_t nearest_multiple(std::int64_t value, std::int64_t lo, std::int64_t hi, std::int64_t step) {
  const std::int64_t first = (lo + step - 1) / step * step, last = hi / step * step;
  if (first > last) return -1;
  const std::int64_t below = std::clamp(value / step * step, first, last);
  const std::int64_t above = std::clamp(below + step, first, last);
  return std::abs(above - value) < std::abs(below - value) ? above : below;
}

}  // namespace

const assay_support& support_of(const support_map& all, std::string_view kernel) {
  static constexpr assay_support everything{};
  const auto at = all.find(kernel);
  return at == all.end() ? everything : at->second;
}

assay_support read_support(const assay_support& given) {
  static_assert(std::is_trivially_copyable_v<assay_support> && std::is_standard_layout_v<assay_support>);
  const std::int64_t size = given.size_bytes;
  constexpr std::int64_t most_bytes = 1 << 20;
  if (size < static_cast<std::int64_t>(sizeof given.size_bytes) || size > most_bytes)
    throw case_error(fmt::format("size_bytes: {} is not the size of an assay_support", size));
  assay_support s{};
  const auto known = std::min<std::size_t>(static_cast<std::size_t>(size), sizeof s);
  std::memcpy(&s, &given, known);
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  if (std::any_of(bytes + known, bytes + size, [](std::byte b) { return b != std::byte{0}; }))
    throw case_error("it restricts something that this program does not know: it was built with a newer support.h");
  s.size_bytes = sizeof s;
  if (s.no_input_margins != 0 || s.no_output_margins != 0) s.no_far_strides = 1;  // rows far apart have gaps
  check(s);
  return s;
}

json::object support_to_json(const assay_support& s) {
  json::object o;
  json::array types;
  for (const assay_types& t : types_in(s)) types.push_back(json::array{t.q, t.kv, t.o});
  if (!types.empty()) o["types"] = std::move(types);
  for (const auto& f : size_fields)
    if (is_restricted(s.*f.field)) o[f.name] = to_object(s.*f.field);
  for (const auto& f : extent_fields)
    if (s.*f.field != 0) o[f.name] = s.*f.field;
  for (const auto& f : flag_fields)
    if (s.*f.field != 0) o[f.name] = s.*f.field;
  return o;
}

assay_support support_from_json(const json::object& o) {
  assay_support s{};
  s.size_bytes = sizeof s;
  try {
    std::size_t at = 0;
    if (const json::value* types = o.if_contains("types"))
      for (const json::value& t : types->as_array())
        if (at < ASSAY_MOST_TYPES)
          s.types[at++] = {t.at(0).to_number<std::int32_t>(), t.at(1).to_number<std::int32_t>(),
                           t.at(2).to_number<std::int32_t>()};
    for (const auto& f : size_fields)
      if (const json::value* v = o.if_contains(f.name)) s.*f.field = sizes_of(v->as_object());
    for (const auto& f : extent_fields)
      if (const json::value* v = o.if_contains(f.name)) s.*f.field = v->to_number<std::int64_t>();
    for (const auto& f : flag_fields) s.*f.field = number_in(o, f.name);
  } catch (const std::exception& e) {
    throw case_error(e.what());
  }
  check(s);
  return s;
}

std::vector<std::string> support_field_names() {
  std::vector<std::string> names{"types"};
  for (const auto& f : size_fields) names.emplace_back(f.name);
  for (const auto& f : extent_fields) names.emplace_back(f.name);
  for (const auto& f : flag_fields) names.emplace_back(f.name);
  return names;
}

bool is_restricted(const assay_sizes& s) {
  return s.values[0] != 0 || s.least != 0 || s.most != 0 || s.multiple_of != 0;
}

bool holds(const assay_sizes& s, std::int64_t value) {
  if (s.values[0] != 0) {
    for (const std::int32_t v : s.values) {
      if (v == 0) return false;
      if (v == value) return true;
    }
    return false;
  }
  return value >= s.least && (s.most == 0 || value <= s.most) && (s.multiple_of == 0 || value % s.multiple_of == 0);
}

std::int64_t nearest_of(const assay_sizes& s, std::int64_t value, std::int64_t lo, std::int64_t hi, std::int64_t step) {
  if (s.values[0] == 0) {
    const std::int64_t first = std::max<std::int64_t>(lo, s.least),
                       last = s.most == 0 ? hi : std::min<std::int64_t>(hi, s.most);
    const std::int64_t multiple = std::max(s.multiple_of, 1);
    // A common multiple of both: the sizes are small, so that their product is.
    std::int64_t both = multiple;
    while (both % step != 0) both += multiple;
    return nearest_multiple(value, first, last, both);
  }
  std::int64_t best = -1;
  for (const std::int32_t v : s.values) {
    if (v == 0) break;
    if (v < lo || v > hi || v % step != 0) continue;
    const std::int64_t apart = std::abs(v - value);
    if (best < 0 || apart < std::abs(best - value) || (apart == std::abs(best - value) && v < best)) best = v;
  }
  return best;
}

std::vector<assay_types> types_in(const assay_support& s) {
  std::vector<assay_types> all;
  for (const assay_types& t : s.types) {
    if (is_end(t)) break;
    all.push_back(t);
  }
  return all;
}

std::vector<std::string> outputs_left_out(const assay_support& s) {
  std::vector<std::string> names;
  if (s.no_lse != 0) names.emplace_back("lse");
  if (s.no_partials != 0) names.insert(names.end(), {"o_partial", "lse_partial"});
  return names;
}

}  // namespace assay
