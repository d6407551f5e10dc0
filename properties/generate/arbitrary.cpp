#include "properties/generate/arbitrary.hpp"

#include <algorithm>

#include "properties/generate/choice.hpp"
#include "properties/generate/shrink.hpp"

namespace assay {

int size_of(std::int64_t round, std::int64_t place) {
  // Steps near the golden ratio and near the square root of 2 - 1 of the number of sizes, which is a prime: a property
  // meets all sizes in as many rounds, and no stretch of rounds or places leaves a wide gap.
  constexpr std::int64_t sizes = rc::kNominalSize + 1, round_step = 62, place_step = 42;
  static_assert(sizes == 101);
  return static_cast<int>((round % sizes * round_step + place % sizes * place_step) % sizes);
}

space_limits limits_for_size(int size) {
  const space_limits full;
  const auto scaled = [size](std::int32_t least, std::int32_t most) {
    return std::clamp(least + (most - least) * size / rc::kNominalSize, least, most);
  };
  space_limits limits;
  limits.max_sequences = scaled(2, full.max_sequences);
  limits.max_q = scaled(4, full.max_q);
  limits.max_k = scaled(330, full.max_k);
  limits.large_cases = limits.dear_cases = size >= 5;
  limits.cost_class = size >= 90 ? full.cost_class : scaled(0, full.cost_class - 1);
  return limits;
}

rc::Gen<attention_case> arbitrary_case(std::vector<std::string> kernels, turn_kind turn, std::int32_t way) {
  return [kernels = std::move(kernels), turn, way](const rc::Random& random, int size) {
    rc::Random numbers = random;
    // A quarter of the cases has features that are rare elsewhere, so that pairs and triples of them are met sooner.
    const bool levels = numbers.next() % 4 == 0;
    random_source source([&numbers] { return numbers.next(); }, levels);
    attention_case c;
    space_limits limits = limits_for_size(turn == turn_kind::large ? rc::kNominalSize : size);
    if (turn == turn_kind::large) limits.large_turn = way;
    if (turn == turn_kind::empty) limits.empty_turn = way, limits.large_cases = false;
    walk(c, source, limits, kernels);
    return rc::shrinkable::shrinkRecur(
        std::move(c), [](const attention_case& larger) { return rc::seq::fromContainer(simpler(larger)); });
  };
}

}  // namespace assay
