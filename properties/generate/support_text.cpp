#include "properties/generate/support_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/generate/support_fields.hpp"
#include "properties/generate/support_table.hpp"

namespace assay {
namespace {

/// "a", "a and b", "a, b and c".
std::string joined_words(const std::vector<std::string>& words, const char* last = "and") {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  const std::vector<std::string> first(words.begin(), words.end() - 1);
  return fmt::format("{} {} {}", fmt::join(first, ", "), last, words.back());
}

/// "128", "64, 128 or 256", "64 to 256 by 8", "up to 8", "from 16".
std::string sizes_text(const assay_sizes& s) {
  std::vector<std::string> values;
  for (const std::int32_t v : s.values) {
    if (v == 0) break;
    values.push_back(std::to_string(v));
  }
  if (!values.empty()) return joined_words(values, "or");
  std::string text = s.least != 0 && s.most != 0 ? fmt::format("{} to {}", s.least, s.most)
                     : s.most != 0               ? fmt::format("up to {}", s.most)
                     : s.least != 0              ? fmt::format("from {}", s.least)
                                                 : "";
  if (s.multiple_of > 1) text += fmt::format("{}multiples of {}", text.empty() ? "" : " in ", s.multiple_of);
  return text;
}

void add_sizes(std::vector<std::string>& parts, const char* what, const assay_sizes& s) {
  if (is_restricted(s)) parts.push_back(fmt::format("{} {}", what, sizes_text(s)));
}

void add_bound(std::vector<std::string>& parts, std::int64_t most, const char* one, const char* many) {
  if (most != 0) parts.push_back(most == 1 ? fmt::format("1 {}", one) : fmt::format("up to {} {}", most, many));
}

std::vector<std::string> sizes_of(operation_set operation, const assay_support& s) {
  std::vector<std::string> parts;
  const bool has_v = operation != of_mqa_logits && is_restricted(s.head_dims_v);
  add_sizes(parts, has_v ? "head dim of K" : "head dim", s.head_dims);
  if (has_v) add_sizes(parts, "head dim of V", s.head_dims_v);
  add_sizes(parts, "pages of", s.page_sizes);
  if (operation != of_append_kv) add_sizes(parts, "group", s.group_sizes);
  add_bound(parts, s.most_heads_q, "query head", "query heads");
  add_bound(parts, s.most_heads_kv, "kv head", "kv heads");
  add_bound(parts, s.most_sequences, "sequence", "sequences");
  add_bound(parts, s.most_rows, "row of a sequence", "rows of a sequence");
  add_bound(parts, s.most_total_rows, "row in all", "rows in all");
  add_bound(parts, s.most_keys, "key", "keys");
  add_bound(parts, s.most_pages, "page in the pool", "pages in the pool");
  add_bound(parts, s.most_pool_bytes, "byte of K", "bytes of K and of V");
  if (operation != of_append_kv) add_bound(parts, s.most_splits, "split", "splits");
  if (operation == of_mqa_logits) add_bound(parts, s.most_columns, "column", "columns");
  if (s.input_alignment > 1) parts.push_back(fmt::format("input rows at multiples of {}", s.input_alignment));
  if (s.output_alignment > 1) parts.push_back(fmt::format("output rows at multiples of {}", s.output_alignment));
  return parts;
}

struct feature_words {
  std::vector<std::string> taken, lacking;
};

bool has_type(const std::vector<type_choice>& types, bool (*is_it)(const type_choice&)) {
  return std::ranges::any_of(types, is_it);
}

/// Whether the kernel could take the feature, by what else it takes: without FP8 no descales are per page.
bool is_relevant(const supported_feature& f, const assay_support& s, const std::vector<type_choice>& types) {
  using s_ = assay_support;
  if (f.lacks == &s_::no_shared_bias || f.lacks == &s_::no_infinite_bias)
    return s.no_bias_f32 == 0 || s.no_bias_f16 == 0 || s.no_bias_bf16 == 0;
  if (f.lacks == &s_::no_page_descales || f.lacks == &s_::no_tensor_descales)
    return has_type(types, [](const type_choice& t) { return is_fp8(t.kv); });
  if (f.lacks == &s_::no_q_scale) return has_type(types, [](const type_choice& t) { return size_bytes(t.q) == 1; });
  if (f.lacks == &s_::no_k_scale || f.lacks == &s_::no_v_scale)
    return has_type(types, [](const type_choice& t) { return size_bytes(t.kv) == 1; });
  if (f.lacks == &s_::no_unequal_head_dims) {
    assay_support otherwise = s;
    otherwise.no_unequal_head_dims = 0;
    return takes_unequal_dims(otherwise);
  }
  if (f.lacks == &s_::no_padding_rows) return s.no_group == 0;
  return f.lacks != &s_::no_unequal_layouts || (s.no_nhd == 0 && s.no_hnd == 0);
}

constexpr const char* other_bits = "runs may differ in bits";
constexpr const char* no_refusals = "bad problems are not refused";
constexpr const char* no_dead_nan = "no NaN in dead memory";

feature_words features_of(std::string_view kernel, const assay_support& s) {
  const operation_set operation = operation_of(kernel);
  const std::vector<type_choice> types = supported_types(kernel, s);
  feature_words words;
  for (const supported_feature& f : supported_features())
    if ((f.operations & operation) != 0 && is_relevant(f, s, types))
      (s.*f.lacks != 0 ? words.lacking : words.taken).emplace_back(f.name);
  const struct {
    const char* name;
    std::int32_t lacks;
  } outputs[] = {{"lse", s.no_lse}, {"partials", s.no_partials}, {"a workspace budget", s.no_workspace_budget}};
  if (operation == of_attention)
    for (const auto& o : outputs) (o.lacks != 0 ? words.lacking : words.taken).emplace_back(o.name);
  return words;
}

}  // namespace

std::string support_line(std::string_view kernel, const assay_support& takes, const std::vector<std::string>& types) {
  constexpr std::size_t few = 8;
  std::vector<std::string> parts;
  if (!types.empty()) parts.push_back(joined_words(types));
  for (std::string& size : sizes_of(operation_of(kernel), takes)) parts.push_back(std::move(size));
  const feature_words features = features_of(kernel, takes);
  if (features.lacking.empty())
    parts.emplace_back("all features");
  else if (features.lacking.size() <= few)
    parts.push_back("all features but " + joined_words(features.lacking));
  else
    parts.push_back(fmt::format("{}", fmt::join(features.taken, ", ")));
  if (takes.no_same_bits != 0) parts.emplace_back(other_bits);
  if (takes.no_refusals != 0) parts.emplace_back(no_refusals);
  // Of a long list of what is lacking, only what is taken is printed.
  if (takes.no_dead_nan != 0 && features.lacking.size() > few) parts.emplace_back(no_dead_nan);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string support_list(std::string_view kernel, const assay_support& takes) {
  const feature_words features = features_of(kernel, takes);
  std::string text = fmt::format("  types   {}\n", fmt::join(names_of_supported_types(kernel, takes), ", "));
  if (const auto sizes = sizes_of(operation_of(kernel), takes); !sizes.empty())
    text += fmt::format("  sizes   {}\n", fmt::join(sizes, ", "));
  text += fmt::format("  takes   {}\n", fmt::join(features.taken, ", "));
  if (!features.lacking.empty()) text += fmt::format("  lacks   {}\n", fmt::join(features.lacking, ", "));
  if (takes.no_same_bits != 0) text += fmt::format("  note    {}\n", other_bits);
  if (takes.no_refusals != 0) text += fmt::format("  note    {}\n", no_refusals);
  if (const std::string fields = support_fields(takes); !fields.empty()) text += fmt::format("  fields  {}\n", fields);
  return text;
}

}  // namespace assay
