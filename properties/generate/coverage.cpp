#include "properties/generate/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "properties/generate/arbitrary.hpp"
#include "properties/generate/kernel_space.hpp"

namespace assay {
namespace {

/// A value of a feature takes 10 bits: 6 for the feature, 4 for the value.
constexpr int value_bits = 4, feature_bits = 6, item_bits = value_bits + feature_bits;

std::uint64_t kernel_number(std::string_view kernel) {
  const auto all = kernel_spaces();
  const auto at = std::ranges::find(all, kernel, [](const kernel_space* k) { return std::string_view(k->name); });
  return static_cast<std::uint64_t>(at - all.begin());
}

std::uint64_t item(std::size_t feature, std::uint8_t value) {
  return (static_cast<std::uint64_t>(feature) << value_bits) | value;
}

std::string name_of_item(std::uint64_t item) {
  const case_feature& f = case_features()[(item >> value_bits) & ((1U << feature_bits) - 1)];
  return fmt::format("{} = {}", f.name, f.values.at(item & ((1U << value_bits) - 1)));
}

pair_coverage draw_possible(const std::string& kernel) {
  constexpr std::uint64_t draws = 6000;
  pair_coverage all;
  const auto generator = arbitrary_case({kernel});
  for (std::uint64_t i = 0; i < draws; ++i) {
    const rc::Random random(rc::Random::Key{0x9a125, i, 0, 0});
    all.add(generator(random, size_of(static_cast<std::int64_t>(i), 0)).value());
  }
  return all;
}

}  // namespace

void pair_coverage::add(const attention_case& c) {
  const std::vector<std::uint8_t> values = feature_values(c);
  const std::uint64_t kernel = kernel_number(c.kernel);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      pairs_.insert(
          static_cast<std::uint32_t>((((kernel << item_bits) | item(i, values[i])) << item_bits) | item(j, values[j])));
}

void triple_coverage::add(const attention_case& c) {
  const std::vector<std::uint8_t> values = feature_values(c);
  const std::uint64_t kernel = kernel_number(c.kernel);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      for (std::size_t k = j + 1; k < values.size(); ++k) {
        const std::uint64_t pair = (((kernel << item_bits) | item(i, values[i])) << item_bits) | item(j, values[j]);
        triples_.insert((pair << item_bits) | item(k, values[k]));
      }
}

const pair_coverage& possible_pairs(const std::string& kernel) {
  static std::map<std::string, pair_coverage> known;
  const auto at = known.find(kernel);
  return at != known.end() ? at->second : known.emplace(kernel, draw_possible(kernel)).first->second;
}

covered_share share_of(const pair_coverage& met, std::span<const std::string> kernels) {
  covered_share share;
  for (const std::string& kernel : drawable(kernels))
    for (const std::uint32_t pair : possible_pairs(kernel).pairs()) {
      ++share.possible;
      share.seen += met.has(pair) ? 1 : 0;
    }
  return share;
}

std::string name_of_pair(std::uint32_t pair) {
  const std::uint64_t kernel = pair >> (2 * item_bits);
  return fmt::format("{}: {}, {}", kernel_spaces()[kernel]->name, name_of_item(pair >> item_bits), name_of_item(pair));
}

}  // namespace assay
