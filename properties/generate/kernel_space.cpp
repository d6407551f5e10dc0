#include "properties/generate/kernel_space.hpp"

#include <algorithm>

#include "properties/case/operation.hpp"
#include "properties/case/types.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

using enum dtype;

constexpr type_choice split_kv_types[] = {
    {f16, f16, f16},      {f16, e4m3fn, f16},     {f16, e4m3fnuz, f16}, {bf16, bf16, bf16},
    {bf16, e4m3fn, bf16}, {bf16, e4m3fnuz, bf16}, {i8, i8, f16},
};
constexpr type_choice batch_prefill_types[] = {
    {e4m3fn, e4m3fn, f16},
    {e4m3fn, e4m3fn, bf16},
    {e4m3fnuz, e4m3fnuz, f16},
    {e4m3fnuz, e4m3fnuz, bf16},
};

constexpr type_choice mqa_logits_types[] = {
    {e4m3fn, e4m3fn, f32},
    {e4m3fnuz, e4m3fnuz, f32},
};

constexpr type_choice append_kv_types[] = {
    {f16, f16, f16},    {f16, e4m3fn, f16},   {f16, e4m3fnuz, f16},
    {bf16, bf16, bf16}, {bf16, e4m3fn, bf16}, {bf16, e4m3fnuz, bf16},
};

constexpr kernel_space table[] = {
    {.name = "split_kv",
     .types = split_kv_types,
     .head_dim_step = 8,
     .per_page_keys = 0,
     .capabilities = has_splits,
     .has_window = true,
     .walk = walk_split_kv},
    {.name = "batch_prefill",
     .types = batch_prefill_types,
     .head_dim_step = 16,
     .per_page_keys = 64,
     .capabilities = has_page_descales,
     .has_window = false,
     .walk = walk_batch_prefill},
    {.name = "mqa_logits",
     .types = mqa_logits_types,
     .head_dim_step = 32,
     .per_page_keys = 0,
     .capabilities = 0,
     .has_window = false,
     .walk = walk_mqa_logits},
    {.name = "append_kv",
     .types = append_kv_types,
     .head_dim_step = 8,
     .per_page_keys = 1,
     .capabilities = 0,
     .has_window = false,
     .walk = walk_append_kv},
};

}  // namespace

std::span<const kernel_space> kernel_spaces() {
  return table;
}

const kernel_space* find_kernel_space(std::string_view name) {
  const auto* at = std::ranges::find(table, name, [](const kernel_space& k) { return std::string_view(k.name); });
  return at == std::end(table) ? nullptr : at;
}

std::uint32_t capabilities_of(std::string_view kernel) {
  const kernel_space* known = find_kernel_space(kernel);
  return describe(kernel).capabilities | (known == nullptr ? has_splits : known->capabilities);
}

std::vector<std::string> kernels_of_the_space() {
  std::vector<std::string> names;
  for (const kernel_space& k : table) names.emplace_back(k.name);
  return names;
}

std::vector<std::string> drawable(std::span<const std::string> kernels) {
  std::vector<std::string> names;
  for (const kernel_space& k : table)
    if (std::ranges::find(kernels, k.name) != kernels.end()) names.emplace_back(k.name);
  return names;
}

std::vector<std::string> types_of_the_space(const kernel_space& kernel) {
  std::vector<std::string> types;
  for (const type_choice& t : kernel.types)
    if (std::string text = types_text(t.q, t.kv, t.o); std::ranges::find(types, text) == types.end())
      types.push_back(std::move(text));
  return types;
}

std::vector<std::string> types_of_the_space() {
  std::vector<std::string> types;
  for (const kernel_space& kernel : kernel_spaces())
    for (std::string& text : types_of_the_space(kernel)) types.push_back(std::move(text));
  return types;
}

}  // namespace assay
