/// What a case reaches: the features and extents without which a run has verified too little.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "properties/case/case.hpp"
#include "properties/run/execution.hpp"

namespace assay {

/// A set of reached things, as a sum of bits: bit i for number i of reachable().
using reach_set = std::uint64_t;

struct reachable_thing {
  const char* name;      ///< snake_case
  const char* sentence;  ///< completes "a case with ..."
  bool (*holds)(const attention_case& c, const execution& ran);
};

/// The one table, of at most 64 rows.
std::span<const reachable_thing> reachable();

/// What the case reached in a run that was planned and declared.
reach_set reached_by(const attention_case& c, const execution& ran);

/// The set of these names, separated by spaces. Throws std::invalid_argument for a name that is not in the table.
reach_set reach_named(std::string_view names);

}  // namespace assay
