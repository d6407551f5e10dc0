/// Which cases of a run are large or empty, and how.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// What a case is by its number.
enum class turn_kind { none, large, empty };

/// What the large and the empty cases of a run are is not left to luck: one of 11 cases is large by its number, and one
/// is empty, of each property. They take the kernels, the kinds of large.hpp or empty.hpp and the combinations of types
/// in turn. So a default run has each kind in each combination at least once. Others are large or empty rarely.
struct case_turn {
  std::string kernel;
  std::string types;     ///< as types_of() names them
  std::int32_t way = 0;  ///< space_limits::large_turn or empty_turn: the way's number, plus the number of ways for each
                         ///< time that it was taken before
};

/// Of case `index` of a run of so many properties.
turn_kind turn_of(std::int64_t index, std::int64_t properties);

/// How the case is large or empty; turn_of() must say that it is. `kernels`: of each property, those that its cases may
/// be of; `types`: those that are wanted, empty for all. Depends on nothing else, so that shards and workers agree.
case_turn way_of_turn(std::int64_t index, std::span<const std::vector<std::string>> kernels,
                      const std::vector<std::string>& types);

}  // namespace assay
