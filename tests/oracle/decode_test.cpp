/// Numbers of all element types against independent sources: the compiler's own types, the formats' formula, MPFR.
#include "oracle/decode.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include <mpfr.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Nearest number of an IEEE format by MPFR: precision and exponent range as given, subnormals included.
double by_mpfr(double x, int precision, int least_exponent, int greatest_exponent) {
  mpfr_set_emin(least_exponent);
  mpfr_set_emax(greatest_exponent);
  mpfr_t r;
  mpfr_init2(r, static_cast<mpfr_prec_t>(precision));
  const int inexact = mpfr_set_d(r, x, MPFR_RNDN);
  mpfr_subnormalize(r, mpfr_check_range(r, inexact, MPFR_RNDN), MPFR_RNDN);
  const double result = mpfr_get_d(r, MPFR_RNDN);
  mpfr_clear(r);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  return result;
}

double any_number(std::mt19937_64& random, int low, int high) {
  const double fraction = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
  // Every fourth has few bits, so that ties occur.
  const double cut = random() % 4 == 0 ? std::ldexp(std::floor(std::ldexp(fraction, 11)), -11) : fraction;
  const double x = std::ldexp(cut, low + static_cast<int>(random() % static_cast<unsigned>(high - low)));
  return random() % 2 == 0 ? x : -x;
}

}  // namespace

TEST_CASE("all f16, bf16 and 8-bit codes decode to their value", "[oracle]") {
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    wrong += !same(decode(dtype::f16, bits), std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    wrong += !same(decode(dtype::bf16, bits), std::bit_cast<float>(bits << 16));
  }
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    wrong += !same(decode(dtype::e4m3fn, bits), testing::e4m3_value(bits, false));
    wrong += !same(decode(dtype::e4m3fnuz, bits), testing::e4m3_value(bits, true));
    // OCP's e5m2 is the upper byte of an f16. fnuz: half of that, and the greatest exponent is an ordinary one.
    const double e5m2 = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits << 8));
    wrong += !same(decode(dtype::e5m2, bits), e5m2);
    const double last = std::ldexp(1 + (bits & 3U) / 4.0, 15) * ((bits & 0x80U) != 0 ? -1 : 1);
    const double fnuz = bits == 0x80 ? std::nan("") : (bits & 0x7CU) == 0x7CU ? last : e5m2 / 2;
    wrong += !same(decode(dtype::e5m2fnuz, bits), fnuz);
    wrong += !same(decode(dtype::i8, bits), static_cast<double>(static_cast<std::int8_t>(bits)));
  }
  CHECK(wrong == 0);
  CHECK(decode(dtype::e4m3fn, 0x7E) == 448);
  CHECK(decode(dtype::e4m3fnuz, 0x7F) == 240);
  CHECK(decode(dtype::e5m2, 0x7B) == 57344);
  CHECK(decode(dtype::e5m2fnuz, 0x7F) == 57344);
}

TEST_CASE("rounding to nearest is IEEE's, ties, subnormals and overflow included", "[oracle]") {
  std::mt19937_64 random(3);
  std::int64_t wrong = 0;
  for (int i = 0; i < 50000; ++i) {
    const double half = any_number(random, -28, 18), single = any_number(random, -152, 130);
    wrong += !same(round_to_nearest(dtype::f16, half), static_cast<double>(static_cast<_Float16>(half)));
    wrong += !same(round_to_nearest(dtype::f16, half), by_mpfr(half, 11, -23, 16));
    wrong += !same(round_to_nearest(dtype::f32, single), static_cast<double>(static_cast<float>(single)));
    wrong += !same(round_to_nearest(dtype::bf16, single), by_mpfr(single, 8, -132, 128));
    wrong += !same(round_to_nearest(dtype::e5m2, half), by_mpfr(half, 3, -15, 16));
    if (std::fabs(half) < 61440) wrong += !same(round_to_nearest(dtype::e5m2fnuz, half), by_mpfr(half, 3, -16, 16));
  }
  CHECK(wrong == 0);
  CHECK(round_to_nearest(dtype::f16, 65519.99) == 65504);
  CHECK(round_to_nearest(dtype::f16, 65520) == std::numeric_limits<double>::infinity());
  CHECK(round_to_nearest(dtype::e4m3fn, 1000) == 448);
  CHECK(std::isnan(round_to_nearest(dtype::bf16, std::nan(""))));
  CHECK(round_to_nearest(dtype::f16, 0x1p-25) == 0);  // a tie, to even
  CHECK(round_to_nearest(dtype::f16, 0x1.8p-24) == 0x1p-23);
  CHECK(round_to_nearest(dtype::i8, 2.5) == 2);
  CHECK(round_to_nearest(dtype::i8, -300) == -128);
}

TEST_CASE("neighbours, directed rounding and ulps agree with the codes of f16", "[oracle]") {
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const double x = decode(dtype::f16, bits), next = decode(dtype::f16, bits + 1);
    wrong += next_up(dtype::f16, x) != next || next_down(dtype::f16, next) != x;
    wrong += next_up(dtype::f16, -next) != -x || next_down(dtype::f16, -x) != -next;
    if (!std::isfinite(next)) continue;
    const double between = x + (next - x) * 0.3;
    wrong += round_down(dtype::f16, between) != x || round_up(dtype::f16, between) != next;
    wrong += round_up(dtype::f16, -between) != -x || round_down(dtype::f16, x) != x;
    wrong += ulp(dtype::f16, x) != next - x;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a tensor without an element type is refused", "[oracle]") {
  CHECK_THROWS_AS(decode(dtype::none, 0), std::invalid_argument);
  CHECK_THROWS_AS(round_to_nearest(dtype::none, 0), std::invalid_argument);
  double value = 0;
  CHECK_THROWS_AS(load_contiguous(tensor{}, 0, 1, &value), std::invalid_argument);
  std::uint32_t bits = 0;
  CHECK_THROWS_AS(load_contiguous_bits(tensor{}, 0, 1, &bits), std::invalid_argument);
}

TEST_CASE("rows give the bits and values of their elements", "[oracle]") {
  alignas(4) std::uint8_t bytes[4 * 96];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<std::uint8_t>(0x7F + 37 * i);
  for (const dtype type :
       {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::i8, dtype::i32}) {
    const tensor t{bytes, type, 1, {96}, {1}};
    std::uint32_t bits[90];
    double values[90];
    load_contiguous_bits(t, 5, 90, bits);
    load_contiguous(t, 5, 90, values);
    for (std::int64_t i = 0; i < 90; ++i) {
      CHECK(bits[i] == load_bits(t, 5 + i));
      CHECK(same(values[i], decode(type, bits[i])));
    }
  }
}

}  // namespace assay::oracle
