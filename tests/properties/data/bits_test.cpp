#include "properties/data/bits.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "oracle/decode.hpp"

namespace assay {
namespace {

constexpr dtype float_types[] = {dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::e5m2, dtype::e5m2fnuz};

std::uint32_t codes(dtype type) {
  return 1U << (8 * size_bytes(type));
}

TEST_CASE("another value differs and is finite, for every pattern") {
  for (const dtype type : float_types)
    for (std::uint32_t bits = 0; bits < codes(type); ++bits) {
      const std::uint32_t other = other_bits(type, bits);
      REQUIRE(other < codes(type));
      REQUIRE(std::isfinite(oracle::decode(type, other)));
      REQUIRE_FALSE(oracle::decode(type, bits) == oracle::decode(type, other));
    }
}

TEST_CASE("another scale differs, is finite and above 0") {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += 0x1FFFF) {
    const auto given = static_cast<std::uint32_t>(bits);
    for (const std::uint32_t near : {given, given & 0xFFFF0000U, given & 0xFFC00000U}) {
      const std::uint32_t other = other_scale_bits(near);
      REQUIRE(other != near);
      REQUIRE(std::isfinite(oracle::decode(dtype::f32, other)));
      REQUIRE(oracle::decode(dtype::f32, other) > 0);
    }
  }
  CHECK(other_scale_bits(1U << 22U) == one_bits(dtype::f32));
}

TEST_CASE("a scaled pattern has exactly the scaled value, or there is none") {
  for (const dtype type : float_types)
    for (const int exponent : {-2, -1, 1, 2})
      for (std::uint32_t bits = 0; bits < codes(type); ++bits) {
        const auto scaled = scaled_bits(type, bits, exponent);
        if (scaled) REQUIRE(oracle::decode(type, *scaled) == std::ldexp(oracle::decode(type, bits), exponent));
        // Whatever v_scaling keeps must scale.
        const double magnitude = std::fabs(oracle::decode(type, bits));
        if (magnitude >= 0x1p-4 && magnitude <= 0x1p4) REQUIRE(scaled.has_value());
      }
}

TEST_CASE("poison is NaN wherever the type has one") {
  for (const dtype type :
       {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::e5m2, dtype::e5m2fnuz})
    CHECK(std::isnan(oracle::decode(type, poison_bits(type))));
  CHECK(oracle::decode(dtype::f16, one_bits(dtype::f16)) == 1.0);
  CHECK(oracle::decode(dtype::e4m3fnuz, one_bits(dtype::e4m3fnuz)) == 1.0);
}

}  // namespace
}  // namespace assay
