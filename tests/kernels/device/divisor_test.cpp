#include "kernels/device/divisor.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <random>

using assay::device::divisor;
using assay::device::wide_divisor;

namespace {

constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();

/// Of numbers around the multiples of d, where a quotient that is off shows.
template <class Divisor, class Number>
bool divides(std::int32_t d, std::mt19937_64& random) {
  constexpr Number largest = std::numeric_limits<Number>::max();
  const Divisor by(d);
  const auto is_right = [&](std::int64_t n) {
    return n < 0 || n > largest || by.quotient(static_cast<Number>(n)) == n / d;
  };
  bool right = is_right(0) && is_right(largest) && is_right(largest - 1);
  const std::int64_t most = largest / d;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t multiple = (i < 4 ? most - i : std::uniform_int_distribution<std::int64_t>(0, most)(random)) * d;
    right = right && is_right(multiple - 1) && is_right(multiple);
    right = right && (multiple == largest || is_right(multiple + 1));
  }
  return right;
}

bool both_divide(std::int32_t d, std::mt19937_64& random) {
  return divides<divisor, std::int32_t>(d, random) && divides<wide_divisor, std::int64_t>(d, random);
}

}  // namespace

TEST_CASE("a divisor gives the quotient of every number below 2^31, a wide one below 2^63", "[device]") {
  std::mt19937_64 random(5);
  for (std::int32_t d = 1; d <= 5000; ++d) {
    CAPTURE(d);
    REQUIRE(both_divide(d, random));
  }
  for (int s = 12; s < 31; ++s)
    for (const std::int32_t d : {(1 << s) - 1, 1 << s, (1 << s) + 1, largest >> (30 - s)}) {
      CAPTURE(d);
      REQUIRE(both_divide(d, random));
    }
  for (int i = 0; i < 2000; ++i) {
    const auto d = std::uniform_int_distribution<std::int32_t>(1, largest)(random);
    CAPTURE(d);
    REQUIRE(both_divide(d, random));
  }
}
