/// The options of a default run, from a seed.
#pragma once

#include <cstdint>

#include "properties/suite/suite.hpp"

namespace assay::testing {

inline suite_options whole_suite(std::uint64_t seed) {
  suite_options options;
  options.kernels = kernels_of_the_space();
  for (const property& p : properties()) options.selected.push_back(&p);
  std::erase_if(options.selected, [&](const property* p) { return !can_be_checked(*p, options); });
  options.seed = seed;
  return options;
}

}  // namespace assay::testing
