#include "fuzz/schedules.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "properties/generate/choice.hpp"
#include "properties/generate/kernel_space.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

TEST_CASE("the fixed cases are of every kernel, and pass under any schedule", "[fuzz]") {
  std::set<std::string> kernels;
  for (const attention_case& c : fuzz::schedule_cases()) {
    kernels.insert(c.kernel);
    for (const schedule_kind kind : {schedule_kind::reverse, schedule_kind::random, schedule_kind::pct})
      for (const std::int32_t wave_size : {32, 64}) {
        attention_case scheduled = c;
        scheduled.schedule = {.kind = kind, .seed = 5, .depth = 2, .wave_size = wave_size};
        const verdict v = fuzz::check_schedule(*library::built_in(), scheduled);
        INFO(c.why << ": " << v.what);
        CHECK(v.result == outcome::pass);
      }
  }
  CHECK(kernels.size() == kernels_of_the_space().size());
}

TEST_CASE("outputs that depend on the schedule are a finding", "[fuzz]") {
  const auto lib = testing::corrupting_library([](testing::call& c) {
    if (c.launch.schedule == ASSAY_PCT && c.has("o")) c.flip_o();
  });
  attention_case c = *std::ranges::find(fuzz::schedule_cases(), "split_kv", &attention_case::kernel);
  c.why = "scheduled by a library that minds";  // the baselines of other tests are of the built-in kernels
  c.schedule.kind = schedule_kind::random;
  CHECK(fuzz::check_schedule(*lib, c).result == outcome::pass);
  c.schedule.kind = schedule_kind::pct;
  const verdict v = fuzz::check_schedule(*lib, c);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "wave_schedule");
}

TEST_CASE("bytes choose every case, kind, depth and wave size", "[fuzz]") {
  std::set<std::string> cases;
  std::set<std::pair<schedule_kind, std::int32_t>> schedules;
  std::set<std::int32_t> depths;
  for (std::uint8_t i = 0; i < 200; ++i) {
    const std::uint8_t bytes[] = {i, static_cast<std::uint8_t>(i / 3), static_cast<std::uint8_t>(i / 7), i, i, i, i, i};
    byte_source choices(bytes);
    const attention_case c = fuzz::choose_schedule(choices);
    CHECK_NOTHROW(validate(c));
    cases.insert(c.why);
    schedules.insert({c.schedule.kind, c.schedule.wave_size});
    depths.insert(c.schedule.depth);
  }
  CHECK(cases.size() == fuzz::schedule_cases().size());
  CHECK(schedules.size() == 6);
  CHECK(depths.size() == 8);
}
