#include "properties/generate/choice.hpp"

#include <map>

#include <catch2/catch_test_macros.hpp>

using namespace assay;

TEST_CASE("an exhaustive source makes every sequence of choices once", "[choice]") {
  exhaustive_source source;
  std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
  do {
    const alternative first[] = {{1, 2, 2}, {1, 0, 2}};  // 2, 0, 1: overlaps count once
    const std::int64_t a = source.choose(first, 0);
    const alternative second[] = {{1, 0, a}};
    ++seen[{a, source.choose(second, 0)}];
  } while (source.next());
  CHECK(seen.size() == 1 + 2 + 3);
  for (const auto& [pair, times] : seen) CHECK(times == 1);
}

TEST_CASE("a byte source without bytes chooses the first alternative's lowest value", "[choice]") {
  byte_source source({});
  const alternative from[] = {{3, 5, 900}, {1, 0, 4}};
  CHECK(source.choose(from, 0) == 5);
}

TEST_CASE("what a recorder writes, a byte source reads", "[choice]") {
  const alternative from[] = {{3, 5, 900}, {1, -70000, 4}, {0, 901, 901}};
  for (const std::int64_t value : {5, 900, -70000, 4, 0}) {
    byte_recorder recorder;
    recorder.choose(from, value);
    const std::vector<std::uint8_t> bytes = recorder.take();
    byte_source source(bytes);
    CHECK(source.choose(from, 0) == value);
  }
  byte_recorder recorder;
  CHECK_THROWS_AS(recorder.choose(from, 901), case_error);  // never drawn: weight 0
}

TEST_CASE("a random source keeps to the weights", "[choice]") {
  std::uint64_t state = 0;
  random_source source([&state] { return state = state * 6364136223846793005U + 1442695040888963407U, state >> 20; });
  const alternative from[] = {{3, 0, 0}, {1, 1, 2}};
  int zeros = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::int64_t value = source.choose(from, 0);
    REQUIRE((value >= 0 && value <= 2));
    zeros += value == 0;
  }
  CHECK(std::abs(zeros - 3000) < 150);
}

TEST_CASE("a levelled source makes on and off alike, and leaves lengths and rare strata alone", "[choice]") {
  std::uint64_t state = 0;
  random_source source([&state] { return state = state * 6364136223846793005U + 1442695040888963407U, state >> 20; },
                       true);
  const auto share_of_first = [&](std::span<const alternative> from) {
    int first = 0;
    for (int i = 0; i < 4000; ++i) first += source.choose(from, 0) == 0 ? 1 : 0;
    return first / 4000.0;
  };
  const alternative flag[] = {{12, 0, 0}, {4, 1, 3}};
  CHECK(std::abs(share_of_first(flag) - 0.5) < 0.04);
  const alternative rare[] = {{97, 0, 0}, {3, 1, 4}};
  CHECK(share_of_first(rare) > 0.95);
  const alternative lengths[] = {{8, 0, 0}, {1, 1, 1}, {1, 2, 2}};
  CHECK(std::abs(share_of_first(lengths) - 0.8) < 0.04);
  const alternative never[] = {{1, 0, 0}, {0, 1, 1}};
  CHECK(share_of_first(never) == 1);
}
