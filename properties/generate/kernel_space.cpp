#include "properties/generate/kernel_space.hpp"

#include <algorithm>

#include "properties/case/operation.hpp"
#include "properties/case/types.hpp"

namespace assay {
namespace {

#define ASSAY_SPACE_ENTRY(name) &name##_space,
constexpr const kernel_space* table[] = {ASSAY_KERNELS(ASSAY_SPACE_ENTRY)};
#undef ASSAY_SPACE_ENTRY

}  // namespace

std::span<const kernel_space* const> kernel_spaces() {
  return table;
}

const kernel_space* find_kernel_space(std::string_view name) {
  const auto* at = std::ranges::find(table, name, [](const kernel_space* k) { return std::string_view(k->name); });
  return at == std::end(table) ? nullptr : *at;
}

std::uint32_t capabilities_of(std::string_view kernel) {
  const kernel_space* known = find_kernel_space(kernel);
  return describe(kernel).capabilities | unless_declared | (known == nullptr ? has_splits : known->capabilities);
}

std::vector<std::string> kernels_of_the_space() {
  std::vector<std::string> names;
  for (const kernel_space* k : table) names.emplace_back(k->name);
  return names;
}

std::vector<std::string> drawable(std::span<const std::string> kernels) {
  std::vector<std::string> names;
  for (const kernel_space* k : table)
    if (std::ranges::find(kernels, k->name) != kernels.end()) names.emplace_back(k->name);
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
  for (const kernel_space* kernel : table)
    for (std::string& text : types_of_the_space(*kernel))
      if (std::ranges::find(types, text) == types.end()) types.push_back(std::move(text));
  return types;
}

}  // namespace assay
