/// Many cases of the space for tests, without RapidCheck's driver: case i of a seed.
#pragma once

#include "properties/bytes.hpp"
#include "properties/generate.hpp"
#include "properties/mutate.hpp"

namespace assay::test {

inline attention_case arbitrary(std::uint64_t i, int size,
                                const std::vector<std::string>& kernels = kernels_of_the_space()) {
  const rc::Random random(rc::Random::Key{11, i, 0, 0});
  return arbitrary_case(kernels)(random, size).value();
}

/// The case as near as the part of the space that has a byte form comes to it.
inline attention_case encodable(attention_case c, const std::vector<std::string>& kernels = kernels_of_the_space()) {
  repeating_source repeat({}, nullptr);
  walk(c, repeat, byte_limits, kernels);
  return c;
}

/// Calls check(case) for `count` cases of rising sizes.
template <typename Check>
void for_cases(int count, Check&& check, const std::vector<std::string>& kernels = kernels_of_the_space()) {
  for (int i = 0; i < count; ++i) check(arbitrary(static_cast<std::uint64_t>(i), i * 100 / count, kernels));
}

}  // namespace assay::test
