#include "properties/case/number.hpp"

#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/data/decode.hpp"

using namespace assay;

namespace {
constexpr dtype narrow_floats[] = {dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz};
}

TEST_CASE("every finite code is rounded to itself", "[number]") {
  for (const dtype type : narrow_floats)
    for (std::uint32_t bits = 0; bits < (1U << (8 * size_bytes(type))); ++bits) {
      const double value = test::decode(type, bits);
      if (std::isfinite(value)) REQUIRE(round_to_bits(type, value) == bits);
    }
  for (int i = -127; i <= 127; ++i) REQUIRE(test::decode(dtype::i8, round_to_bits(dtype::i8, i)) == i);
  for (const float f : {1.0F, -0.1F, 1e-45F, 3.4028235e38F, 1.17549435e-38F, 0.0F, -0.0F})
    CHECK(static_cast<float>(test::decode(dtype::f32, round_to_bits(dtype::f32, f))) == f);
}

TEST_CASE("a value between two codes goes to the nearer one, a tie to the even one", "[number]") {
  for (const dtype type : narrow_floats) {
    const std::uint32_t last = format_of(type).last_finite;
    for (std::uint32_t below = 0; below < last; ++below) {
      const double lo = test::decode(type, below), hi = test::decode(type, below + 1), middle = (lo + hi) / 2;
      const std::uint32_t even = below % 2 == 0 ? below : below + 1;
      REQUIRE(round_to_bits(type, middle) == even);
      REQUIRE(round_to_bits(type, std::nextafter(middle, 0)) == below);
      REQUIRE(round_to_bits(type, std::nextafter(middle, 1e300)) == below + 1);
    }
    CHECK(round_to_bits(type, 1e300) == last);
    CHECK(round_to_bits(type, -1e300) == (last | format_of(type).sign));
  }
  CHECK(round_to_bits(dtype::i8, 2.5) == 2);
  CHECK(round_to_bits(dtype::i8, -1000) == 0x81);
}

TEST_CASE("a row of values is rounded as each of them", "[number]") {
  std::vector<double> values = {0, -0.0, 0.5, 1.5, -2.5, 126.5, 448, 1e300, -1e300, 1e-300, 5e-324, 0x1p-10, -0x1.8p-9};
  for (int i = 0; i < 4000; ++i) values.push_back((i % 2 == 0 ? 1 : -1) * std::ldexp(1 + i / 4000.0, i % 300 - 150));
  std::vector<std::uint32_t> row(values.size());
  for (const dtype type :
       {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::e5m2, dtype::e5m2fnuz, dtype::i8}) {
    round_to_bits(type, values, row);
    for (std::size_t i = 0; i < row.size(); ++i) REQUIRE(row[i] == round_to_bits(type, values[i]));
  }
}

TEST_CASE("elements are stored one behind the other, and no other is touched", "[number]") {
  const std::vector<std::uint32_t> bits = {0x11, 0x22, 0x33};
  std::uint16_t halves[5] = {};
  store_bits(halves, 1, dtype::f16, bits);
  CHECK(std::vector<int>(halves, halves + 5) == std::vector<int>{0, 0x11, 0x22, 0x33, 0});
  std::uint8_t bytes[5] = {};
  store_bits(bytes, 2, dtype::e4m3fn, bits);
  CHECK(std::vector<int>(bytes, bytes + 5) == std::vector<int>{0, 0, 0x11, 0x22, 0x33});
}

TEST_CASE("poison is what its name says where the type has it", "[number]") {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz})
    CHECK(std::isnan(test::decode(type, poison_pattern(type, poison_kind::nan))));
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16})
    CHECK(std::isinf(test::decode(type, poison_pattern(type, poison_kind::inf))));
  CHECK(test::decode(dtype::e4m3fn, poison_pattern(dtype::e4m3fn, poison_kind::huge)) == 448);
  CHECK(test::decode(dtype::e4m3fnuz, poison_pattern(dtype::e4m3fnuz, poison_kind::inf)) == 240);
  CHECK(test::decode(dtype::i8, poison_pattern(dtype::i8, poison_kind::nan)) == -128);
  for (const dtype type : narrow_floats) CHECK(poison_pattern(type, poison_kind::zero) == 0);
}
