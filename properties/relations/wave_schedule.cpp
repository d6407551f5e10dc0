#include <fmt/format.h>

#include <string_view>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

// The wave size does not change: it determines the matrix atoms, so the contract depends on it. What the checker says
// of two accesses does not depend on which of them came first. A kernel that asks who came first, by an atomic, can
// make other accesses in another order: the descending order is checked, and one of each kind of random orders.
verdict check(const library& lib, const attention_case& c) {
  relation r(wave_schedule, lib, c);
  attention_case other = c;
  const auto expect = [&](schedule_kind kind, std::uint64_t seed, const run_manner& manner) {
    if (r.decided()) return;
    other.schedule.kind = kind;
    other.schedule.seed = seed;
    inputs same = clone(r.given());
    r.expect_same_bits(same, other,
                       fmt::format("scheduling {} with seed {} over {} threads",
                                   boost::describe::enum_to_string(kind, "?"), seed, manner.workers),
                       manner);
  };
  const run_manner unchecked{.checks_accesses = false};
  expect(schedule_kind::round_robin, 0, unchecked);
  expect(schedule_kind::reverse, 0, {});
  expect(schedule_kind::random, c.schedule.seed + 1, unchecked);
  expect(schedule_kind::random, c.schedule.seed + 2, {.workers = 2});
  expect(schedule_kind::pct, c.schedule.seed + 1, {});
  expect(schedule_kind::pct, c.schedule.seed + 2, unchecked);
  return r.conclude();
}

}  // namespace

const property wave_schedule{"wave_schedule", "the order in which waves run does not change any output bit", check,
                             nullptr, has_schedules};

}  // namespace assay::relations
