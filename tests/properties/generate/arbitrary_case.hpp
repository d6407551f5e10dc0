/// Many cases of the space for tests, without RapidCheck's driver: case i of a seed.
#pragma once

#include "properties/generate/arbitrary.hpp"

namespace assay::test {

inline attention_case arbitrary(std::uint64_t i, int size,
                                const std::vector<std::string>& kernels = kernels_of_the_space()) {
  const rc::Random random(rc::Random::Key{11, i, 0, 0});
  return arbitrary_case(kernels)(random, size).value();
}

/// Calls check(case) for `count` cases of rising sizes.
template <typename Check>
void for_cases(int count, Check&& check, const std::vector<std::string>& kernels = kernels_of_the_space()) {
  for (int i = 0; i < count; ++i) check(arbitrary(static_cast<std::uint64_t>(i), i * 100 / count, kernels));
}

}  // namespace assay::test
