#include "properties/generate/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json.hpp>
#include <stdexcept>

#include "properties/generate/arbitrary.hpp"
#include "properties/generate/fit.hpp"
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

pair_coverage draw_possible(const std::string& kernel, const assay_support& takes) {
  constexpr std::uint64_t draws = 6000;
  pair_coverage all;
  const auto generator = arbitrary_case({kernel});
  for (std::uint64_t i = 0; i < draws; ++i) {
    const rc::Random random(rc::Random::Key{0x9a125, i, 0, 0});
    all.add(fit(generator(random, size_of(static_cast<std::int64_t>(i), 0)).value(), takes));
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

namespace {

/// The number of each feature's first value among the values of all features, and the number of all.
const std::vector<std::size_t>& first_values() {
  static const auto firsts = [] {
    std::vector<std::size_t> all = {0};
    for (const case_feature& f : case_features()) all.push_back(all.back() + f.values.size());
    return all;
  }();
  return firsts;
}

/// The number of i < j < k among all triples: binomial coefficients count those with smaller k, then j, then i.
constexpr std::size_t triple_number(std::size_t i, std::size_t j, std::size_t k) {
  return k * (k - 1) * (k - 2) / 6 + j * (j - 1) / 2 + i;
}

constexpr std::size_t bits_of_digit = 4;

std::size_t digits_of_all() {
  const std::size_t n = first_values().back();
  return (n * (n - 1) * (n - 2) / 6 + bits_of_digit - 1) / bits_of_digit;
}

}  // namespace

void triple_coverage::add(const attention_case& c) {
  std::vector<std::uint8_t>& met = met_[c.kernel];
  met.resize(digits_of_all());
  const std::vector<std::uint8_t> values = feature_values(c);
  std::vector<std::size_t> items;
  for (std::size_t f = 0; f < values.size(); ++f) items.push_back(first_values()[f] + values[f]);
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::size_t j = i + 1; j < items.size(); ++j)
      for (std::size_t k = j + 1; k < items.size(); ++k) {
        const std::size_t number = triple_number(items[i], items[j], items[k]);
        met[number / bits_of_digit] |= static_cast<std::uint8_t>(1U << (number % bits_of_digit));
      }
}

void triple_coverage::merge(const triple_coverage& other) {
  for (const auto& [kernel, bits] : other.met_) {
    std::vector<std::uint8_t>& met = met_[kernel];
    met.resize(digits_of_all());
    for (std::size_t at = 0; at < bits.size(); ++at) met[at] |= bits[at];
  }
}

std::map<std::string, std::string> triple_coverage::digits() const {
  std::map<std::string, std::string> all;
  for (const auto& [kernel, bits] : met_)
    for (const std::uint8_t digit : bits) all[kernel] += "0123456789abcdef"[digit];
  return all;
}

triple_coverage triple_coverage::of_digits(const std::map<std::string, std::string>& digits) {
  triple_coverage all;
  for (const auto& [kernel, text] : digits) {
    if (text.size() != digits_of_all()) throw std::invalid_argument("triples of " + kernel + ": not of this version");
    std::vector<std::uint8_t>& met = all.met_[kernel];
    for (const char digit : text) {
      const std::size_t value = std::string_view("0123456789abcdef").find(digit);
      if (value == std::string_view::npos) throw std::invalid_argument("triples of " + kernel + ": not hexadecimal");
      met.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return all;
}

std::int64_t triple_coverage::seen() const {
  std::int64_t count = 0;
  for (const auto& [kernel, bits] : met_)
    for (const std::uint8_t digit : bits) count += std::popcount(digit);
  return count;
}

bool triple_coverage::has(const std::string& kernel, std::size_t i, std::size_t j, std::size_t k) const {
  const auto at = met_.find(kernel);
  const std::size_t number = triple_number(i, j, k);
  return at != met_.end() && (at->second[number / bits_of_digit] >> (number % bits_of_digit) & 1U) != 0;
}

const pair_coverage& possible_pairs(const std::string& kernel, const assay_support& takes) {
  static std::map<std::pair<std::string, std::string>, pair_coverage> known;
  const std::pair key{kernel, boost::json::serialize(support_to_json(takes))};
  const auto at = known.find(key);
  return at != known.end() ? at->second : known.emplace(key, draw_possible(kernel, takes)).first->second;
}

covered_share share_of(const pair_coverage& met, std::span<const std::string> kernels, const support_map& takes) {
  covered_share share;
  for (const std::string& kernel : drawable(kernels))
    for (const std::uint32_t pair : possible_pairs(kernel, support_of(takes, kernel)).pairs()) {
      ++share.possible;
      share.seen += met.has(pair) ? 1 : 0;
    }
  return share;
}

covered_share share_of(const triple_coverage& met, std::span<const std::string> kernels, const support_map& takes) {
  covered_share share;
  const std::size_t n = first_values().back();
  const auto number_of = [](std::uint32_t item) {
    return first_values()[(item >> value_bits) & ((1U << feature_bits) - 1)] + (item & ((1U << value_bits) - 1));
  };
  for (const std::string& kernel : drawable(kernels)) {
    std::vector<std::vector<bool>> is_possible(n, std::vector<bool>(n));  // [i][j], i < j: values of one feature never
    for (const std::uint32_t pair : possible_pairs(kernel, support_of(takes, kernel)).pairs())
      is_possible[number_of(pair >> item_bits)][number_of(pair)] = true;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        for (std::size_t k = j + 1; is_possible[i][j] && k < n; ++k) {
          if (!is_possible[i][k] || !is_possible[j][k]) continue;
          ++share.possible;
          share.seen += met.has(kernel, i, j, k) ? 1 : 0;
        }
  }
  return share;
}

std::string name_of_pair(std::uint32_t pair) {
  const std::uint64_t kernel = pair >> (2 * item_bits);
  return fmt::format("{}: {}, {}", kernel_spaces()[kernel]->name, name_of_item(pair >> item_bits), name_of_item(pair));
}

}  // namespace assay
