/// The groups of keys that the residual test looks at.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "oracle/residual_row.hpp"

namespace assay::oracle {

/// Groups of one kind and size: (key / unit) mod ways, or key / unit with ways = 0. Of the kinds without a unit there
/// is one group.
struct group_level {
  group_kind kind = group_kind::key;
  std::int64_t unit = 1;
  std::int64_t ways = 0;
  /// Whether sequences, and not only heads, share the group.
  bool is_of_all_sequences() const { return kind >= group_kind::share; }
};

/// The levels of a sequence of so many keys. Of levels with the same groups the first is kept: a page is named as such.
std::vector<group_level> levels_of(const problem& planned, std::int64_t keys);
/// Those that all sequences share; they are the same for all.
std::vector<group_level> shared_levels(const problem& planned);

/// Those of a case whose groups have the same keys, by their position, in all sequences: the shared ones that are not
/// the sum of all, tiles, prefixes, and splits by their number (`unit` 0).
std::vector<group_level> positions_of_case(const problem& planned);
/// Keys of a split of a sequence of so many keys.
std::int64_t split_keys(const problem& planned, std::int64_t keys);

/// Number of groups of a level in a sequence of so many keys.
std::int64_t count_of(const group_level& level, std::int64_t keys);

/// Calls `visit` with the sums of each group that has keys of the row, but for all_keys.
using group_visitor = std::function<void(std::int64_t index, const key_sums& sums)>;
void for_each_group(const group_level& level, const residual_row& row, const value_block& values,
                    const group_visitor& visit);

/// The group of that index, described.
residual_finding group_of(const group_level& level, std::int64_t index, std::int64_t keys);

/// Whether the group has the key, of the row's visible keys or its hidden neighbours.
bool has_key(const residual_finding& group, const residual_row& row, std::int64_t key);

/// Sums over the group's visible keys.
key_sums sums_of(const residual_finding& group, const residual_row& row);

/// c_g of a row, row.columns numbers.
std::vector<double> contribution(const residual_finding& group, const residual_row& row, const value_block& values);

}  // namespace assay::oracle
