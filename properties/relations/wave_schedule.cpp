#include <fmt/format.h>

#include <string_view>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

// The wave size does not change: it determines the matrix atoms, so the contract depends on it.
verdict check(const library& lib, const attention_case& c) {
  if (lib.platform() != "cpu") return discarded("only the cpu platform has schedules");
  relation r(wave_schedule, lib, c);
  attention_case other = c;
  const auto expect = [&](schedule_kind kind, std::uint64_t seed, int workers) {
    if (r.decided()) return;
    other.schedule.kind = kind;
    other.schedule.seed = seed;
    inputs same = clone(r.given());
    r.expect_same_bits(same, other,
                       fmt::format("scheduling {} with seed {} over {} threads",
                                   boost::describe::enum_to_string(kind, "?"), seed, workers),
                       workers);
  };
  expect(schedule_kind::round_robin, 0, 1);
  expect(schedule_kind::reverse, 0, 1);
  expect(schedule_kind::random, c.schedule.seed + 1, 1);
  expect(schedule_kind::random, c.schedule.seed + 2, 2);
  expect(schedule_kind::pct, c.schedule.seed + 1, 1);
  expect(schedule_kind::pct, c.schedule.seed + 2, 1);
  return r.conclude();
}

}  // namespace

const property wave_schedule{"wave_schedule", "the order in which waves run does not change any output bit", check,
                             nullptr};

}  // namespace assay::relations
