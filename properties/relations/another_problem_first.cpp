#include "properties/generate/choice.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/space.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

#include <random>

namespace assay::relations {
namespace {

constexpr int most_draws = 20;  ///< of cases that the library's predicate refuses

/// Another case of the kernel, by numbers of the case's data seed. It is cheap: what matters is what it leaves behind.
attention_case other_case(const attention_case& c, std::mt19937_64& numbers) {
  random_source source([&numbers] { return numbers(); });
  space_limits limits;
  limits.cost_class = 2;
  limits.dear_cases = false;
  attention_case other;
  walk(other, source, limits, std::vector{c.kernel});
  return other;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(another_problem_first, lib, c);
  if (r.decided()) return r.conclude();
  std::mt19937_64 numbers(c.data.seed ^ 0x9E3779B97F4A7C15U);
  attention_case other = fit(other_case(c, numbers), lib.support_of(c.kernel));
  for (int draws = 1; draws < most_draws && !refused_by_predicate(lib, other).empty(); ++draws)
    other = fit(other_case(c, numbers), lib.support_of(c.kernel));
  if (const std::string why = refused_by_predicate(lib, other); !why.empty()) {
    r.discard("the library's predicate refuses each other problem that was drawn: " + why);
    return r.conclude();
  }
  inputs of_other = fill(other);
  // What its own run shows belongs to its own case: here it only comes first.
  execute(lib, other, of_other);
  inputs same = clone(r.given());
  r.expect_same_bits(same, c, "running another problem");
  return r.conclude();
}

}  // namespace

const property another_problem_first{"another_problem_first",
                                     "a problem that ran before does not change any output bit", check, nullptr};

}  // namespace assay::relations
