#include "kernels/device/quotient.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "kernels/device/convert.hpp"

using namespace assay::device;

namespace {

/// Whether the codes of both 8-bit types are those of the division, and the quotient is where it must be.
bool is_right(const float_quotient& by, float x) {
  const float q = by.quotient(x), due = x / by.divisor, size = std::fabs(due);
  const bool is_exact = size >= 0x1p-11F && size <= 0x1p11F;
  if (is_exact && std::bit_cast<std::uint32_t>(q) != std::bit_cast<std::uint32_t>(due)) return false;
  return from_float<e4m3fn>(q).bits == from_float<e4m3fn>(due).bits &&
         from_float<e4m3fnuz>(q).bits == from_float<e4m3fnuz>(due).bits;
}

float any_float(std::mt19937_64& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
}

/// Scales whose significand is near 1, near 2, short, or any.
float any_scale(std::mt19937_64& random) {
  const std::uint32_t fraction = static_cast<std::uint32_t>(random()) & 0x7FFFFFU, few = fraction & 15U;
  const std::uint32_t fractions[] = {few, 0x7FFFFFU - 16 - few, few << 19, fraction};
  const auto exponent = static_cast<std::uint32_t>(127 - 60 + random() % 120);
  return std::bit_cast<float>(exponent << 23 | fractions[random() % 4]);
}

}  // namespace

TEST_CASE("a quotient by a reciprocal has the code of the division, of every row of bf16 and f16", "[device]") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const float d = i < 5 ? std::exp2f(static_cast<float>(30 * i - 60)) : any_scale(random);
    CAPTURE(d);
    REQUIRE(float_quotient::takes(d));
    const float_quotient by(d);
    bool right = true;
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
      const auto narrow = static_cast<std::uint16_t>(bits);
      right = right && is_right(by, to_float(bf16{narrow})) && is_right(by, to_float(f16{narrow}));
    }
    REQUIRE(right);
  }
}

TEST_CASE("a quotient by a reciprocal is the division, rounded once, of any f32", "[device]") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    const float_quotient by(any_scale(random));
    CAPTURE(by.divisor);
    bool right = true;
    for (int j = 0; j < 100; ++j) {
      right = right && is_right(by, any_float(random));
      // Where the quotient is near the middle of two f32, and of two codes.
      const auto exact = static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>((120U + random() % 16U) << 23 | random() % 0x800000U)));
      const double middle = exact * (1 + std::exp2(-24));
      const auto x = static_cast<float>(middle * static_cast<double>(by.divisor));
      right = right && is_right(by, x) && is_right(by, std::nextafterf(x, 0.0F)) && is_right(by, -x);
      const auto code = static_cast<std::uint8_t>(random() % 0x7EU);
      const double between = (static_cast<double>(to_float(e4m3fn{code})) +
                              static_cast<double>(to_float(e4m3fn{static_cast<std::uint8_t>(code + 1U)}))) /
                             2;
      const auto tie = static_cast<float>(between * static_cast<double>(by.divisor));
      for (const float near :
           {tie, std::nextafterf(tie, 0.0F), std::nextafterf(tie, std::numeric_limits<float>::max())})
        right = right && is_right(by, near) && is_right(by, -near);
    }
    REQUIRE(right);
  }
}

TEST_CASE("no quotient by a reciprocal is made of scales for which it is not proven", "[device]") {
  for (const float d :
       {0.0F, -1.0F, 0x1p-61F, 0x1.000002p60F, std::nextafterf(1.0F, 0.0F), 0x1.fffffep-7F, 0x1.ffffe0p3F, 1e-45F,
        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    CAPTURE(d);
    CHECK_FALSE(float_quotient::takes(d));
  }
  for (const float d : {0x1p-60F, 0x1p60F, 1.0F, 0x1.ffffdep0F, 0.0131F}) {
    CAPTURE(d);
    CHECK(float_quotient::takes(d));
  }
}
