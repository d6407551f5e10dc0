#include <algorithm>
#include <array>
#include <limits>

#include "properties/generate/kernel_space.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/relations/relations.hpp"

namespace assay {
namespace {

bool takes_one(std::int64_t most) {
  return most == 1;
}

bool has_one_head(const assay_support& s, std::string_view /*kernel*/) {
  const bool has_one_kv_head = takes_one(s.most_heads_kv) || takes_one(s.most_heads_q);
  const std::int64_t most = s.most_heads_q == 0 ? std::numeric_limits<std::int32_t>::max() : s.most_heads_q;
  return has_one_kv_head && (takes_one(s.most_heads_q) || nearest_of(s.group_sizes, 2, 2, most) < 0);
}

/// A single row at the end of its sequence sees all keys unless a window or an offset says otherwise.
bool hides_no_key(const assay_support& s, std::string_view kernel) {
  if (operation_of(kernel) == of_mqa_logits) return takes_one(s.most_rows);
  return (s.no_causal != 0 || (takes_one(s.most_rows) && s.no_prefix_offset != 0)) && s.no_window != 0;
}

bool has_no_fp8(const assay_support& s, std::string_view kernel) {
  return std::ranges::none_of(supported_types(kernel, s), [](const type_choice& t) { return is_fp8(t.kv); });
}

/// Pools whose last byte may lie 2^31 bytes or more behind the first: with page sizes and heads as usual.
bool has_near_pool(const assay_support& s, std::string_view /*kernel*/) {
  constexpr std::int64_t many_pages = std::int64_t{1} << 26, far = std::int64_t{1} << 32;
  return (s.most_pool_bytes != 0 && s.most_pool_bytes < far) || (s.most_pages != 0 && s.most_pages < many_pages);
}

/// What a property may need and a kernel may lack.
struct lack {
  std::uint32_t need;
  bool (*is_missing)(const assay_support& s, std::string_view kernel);
  const char* why;
};

constexpr lack lacks[] = {
    {takes_split_counts,
     [](const assay_support& s, std::string_view) { return s.no_split_count != 0 || takes_one(s.most_splits); },
     "the kernel takes no number of splits"},
    {has_partials, [](const assay_support& s, std::string_view) { return s.no_partials != 0; },
     "the kernel keeps its partials to itself"},
    {takes_page_descales,
     [](const assay_support& s, std::string_view kernel) { return s.no_page_descales != 0 || has_no_fp8(s, kernel); },
     "the kernel takes no descales per page"},
    {takes_tensor_descales,
     [](const assay_support& s, std::string_view) {
       return s.no_tensor_descales != 0 || s.no_k_scale != 0 || s.no_v_scale != 0;
     },
     "the kernel takes no descales per tensor"},
    {hides_keys, hides_no_key, "the kernel takes no mask that hides a key"},
    {has_several_rows,
     [](const assay_support& s, std::string_view) {
       return takes_one(s.most_total_rows) || (takes_one(s.most_rows) && takes_one(s.most_sequences));
     },
     "the kernel takes one query row"},
    {has_long_sequences, [](const assay_support& s, std::string_view) { return takes_one(s.most_rows); },
     "the kernel takes one new row of a sequence"},
    {has_several_sequences, [](const assay_support& s, std::string_view) { return takes_one(s.most_sequences); },
     "the kernel takes one sequence"},
    {has_several_heads, has_one_head, "the kernel takes one head"},
    {has_far_pages, has_near_pool, "the kernel takes no pool beyond 2^31 bytes"},
    {has_spare_entries, [](const assay_support& s, std::string_view) { return s.no_spare_table_entries != 0; },
     "the kernel takes no table entries behind the last page"},
    {refuses_problems, [](const assay_support& s, std::string_view) { return s.no_refusals != 0; },
     "nothing checks what the kernel is called with"},
    {has_far_strides,
     [](const assay_support& s, std::string_view) {
       return s.no_far_strides != 0 || s.no_input_margins != 0 || s.no_output_margins != 0;
     },
     "the kernel takes no rows that lie far apart"},
};

}  // namespace

bool applies(const property& p, std::string_view kernel) {
  return (capabilities_of(kernel) & p.needs) == p.needs;
}

std::string left_out(const property& p, std::string_view kernel, const assay_support& takes,
                     const library_traits& traits) {
  for (const lack& l : lacks)
    if ((p.needs & l.need) != 0 && l.is_missing(takes, kernel)) return l.why;
  if ((p.needs & has_schedules) != 0 && !traits.has_schedules) return "only the cpu platform has schedules";
  return (p.needs & has_attention_too) != 0 && !traits.has_attention ? "the library has no kernel of attention" : "";
}

library_traits traits_of(const library& lib) {
  const auto is_attention = [](const std::string& name) { return operation_of(name) == of_attention; };
  return {std::ranges::any_of(lib.kernels(), is_attention), lib.platform() == "cpu"};
}

std::span<const property> properties() {
#define ASSAY_PROPERTY_ENTRY(name) relations::name,
  static const std::array table{ASSAY_PROPERTIES(ASSAY_PROPERTY_ENTRY)};
#undef ASSAY_PROPERTY_ENTRY
  return table;
}

const property& enclosure_property() {
  return properties().front();
}

}  // namespace assay
