#include "properties/generate/arbitrary.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

TEST_CASE("a case is a function of random state and size", "[generate]") {
  for (std::uint64_t i = 0; i < 50; ++i) CHECK(test::arbitrary(i, 70) == test::arbitrary(i, 70));
  CHECK_FALSE(test::arbitrary(1, 70) == test::arbitrary(2, 70));
}

TEST_CASE("sizes scale the work", "[generate]") {
  const auto mean = [](int size) {
    std::int64_t total = 0;
    for (std::uint64_t i = 0; i < 400; ++i) total += multiply_adds(test::arbitrary(i, size));
    return total / 400;
  };
  CHECK(mean(0) < 70'000);
  CHECK(mean(0) < mean(50));
  CHECK(mean(50) < mean(100));
}

TEST_CASE("RapidCheck drives generation and shrinking", "[generate]") {
  const auto shrinkable = arbitrary_case()(rc::Random(5), 80);
  auto shrinks = shrinkable.shrinks();
  const auto first = shrinks.next();
  REQUIRE(first);
  CHECK_FALSE(first->value() == shrinkable.value());
  CHECK_NOTHROW(validate(first->value()));
}
