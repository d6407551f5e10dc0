/// What changed from one night to the next.
#pragma once

#include <string>
#include <vector>

#include "properties/nightly/night.hpp"

namespace assay {

/// A number that both nights have.
struct number_change {
  std::string stage;
  std::string name;
  double before = 0;
  double now = 0;
  double relative() const { return before == 0 ? 0 : now / before - 1; }
};

struct comparison {
  std::vector<night_finding> appeared;  ///< in this night but not in the one before
  std::vector<night_finding> stayed;
  std::vector<night_finding> gone;  ///< in the night before; a stage looked for them again and did not find them
  std::vector<number_change> numbers;
};

comparison compare(const night& before, const night& now);

}  // namespace assay
