/// Which combinations of features a run has met. A case has one value of each categorical feature: on or off, a kind,
/// or an extent relative to tile, page and split. Bugs need two or three features together, so pairs and triples are
/// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"

namespace assay {

/// A feature and its values, as words. `value_of` is an index into them.
struct case_feature {
  const char* name;
  std::vector<std::string> values;
  int (*value_of)(const attention_case& c);
};

/// All features, in a fixed order. At most 64, of at most 16 values each.
std::span<const case_feature> case_features();

/// The values of a case, one for each feature.
std::vector<std::uint8_t> feature_values(const attention_case& c);

/// Pairs of feature values that cases had, by kernel. Sets of several shards can be merged; a set is numbers, for JSON.
class pair_coverage {
 public:
  void add(const attention_case& c);
  void merge(std::span<const std::uint32_t> pairs) { pairs_.insert(pairs.begin(), pairs.end()); }

  /// The pairs, ascending. Their numbers mean the same in every run of this version.
  std::vector<std::uint32_t> pairs() const { return {pairs_.begin(), pairs_.end()}; }
  std::int64_t seen() const { return static_cast<std::int64_t>(pairs_.size()); }
  bool has(std::uint32_t pair) const { return pairs_.contains(pair); }

 private:
  std::set<std::uint32_t> pairs_;
};

/// Triples, in the same way: a bit for each, by kernel, since a case has thousands of them.
class triple_coverage {
 public:
  void add(const attention_case& c);
  void merge(const triple_coverage& other);

  /// Of each kernel the bits, 4 to a hexadecimal digit. Their places mean the same in every run of this version.
  std::map<std::string, std::string> digits() const;
  /// The inverse. Throws std::invalid_argument where it is none.
  static triple_coverage of_digits(const std::map<std::string, std::string>& digits);

  std::int64_t seen() const;
  /// Of three values of different features, by their numbers among the values of all features, ascending.
  bool has(const std::string& kernel, std::size_t i, std::size_t j, std::size_t k) const;

 private:
  std::map<std::string, std::vector<std::uint8_t>> met_;  ///< 4 bits to an element
};

/// The pairs that the space of these kernels has: those of 6,000 cases of each kernel, drawn from all of the space and
/// fitted to what the kernel takes. It takes about a second for each kernel, once. A pair that none of them has is too
/// rare to ask for.
const pair_coverage& possible_pairs(const std::string& kernel, const assay_support& takes = {});

/// What a run has covered of what is possible.
struct covered_share {
  std::int64_t seen = 0;      ///< of the possible ones
  std::int64_t possible = 0;  ///< of the kernels of the run
  double share() const { return possible == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(possible); }
};
covered_share share_of(const pair_coverage& met, std::span<const std::string> kernels, const support_map& takes = {});
/// Possible are here the triples of which each pair is possible. Some of these cannot be, so the share is the least
/// that it may be.
covered_share share_of(const triple_coverage& met, std::span<const std::string> kernels, const support_map& takes = {});

/// "split_kv: window = within a tile, sinks = huge".
std::string name_of_pair(std::uint32_t pair);

}  // namespace assay
