/// Interval operations hold the exact result, endpoints included, and no more than a few ulps beside it.
#include "oracle/interval.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <mpfr.h>
#include <catch2/catch_test_macros.hpp>

namespace assay::oracle {
namespace {

/// Ends that break careless code: zeros, subnormals, powers of two and their neighbours, the largest, and random bits.
double adversarial(std::mt19937_64& random) {
  static const std::vector<double> special = {0.0,
                                              -0.0,
                                              1.0,
                                              -1.0,
                                              0x1p-1074,
                                              -0x1p-1074,
                                              0x1p-1022,
                                              0x1.fffffffffffffp-1023,
                                              0x1.fffffffffffffp1023,
                                              -0x1.fffffffffffffp1023,
                                              0x1p-149,
                                              0x1.fffffep127,
                                              0.5,
                                              2.0,
                                              0x1.fffffffffffffp-1,
                                              0x1.0000000000001p0,
                                              710.0,
                                              -745.0,
                                              1024.0,
                                              -1074.5,
                                              0x1p-30,
                                              0x1.62e42fefa39efp-1};
  const auto pick = random() % 4;
  if (pick == 0) return special[random() % special.size()];
  const int exponent = pick == 1 ? static_cast<int>(random() % 2040) - 1020 : static_cast<int>(random() % 24) - 12;
  const double fraction = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
  return std::ldexp((random() & 1) != 0 ? -fraction : fraction, exponent);
}

interval random_interval(std::mt19937_64& random) {
  const double a = adversarial(random);
  if (random() % 3 == 0) return point(a);
  const double b = random() % 2 == 0 ? adversarial(random) : std::nextafter(a, infinity);
  return {std::min(a, b), std::max(a, b)};
}

struct reference {
  reference() { mpfr_init2(value, 2200); }
  ~reference() { mpfr_clear(value); }
  reference(const reference&) = delete;
  reference& operator=(const reference&) = delete;
  mpfr_t value;
};

using binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
using unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

bool holds(const interval& e, mpfr_srcptr exact) {
  return mpfr_cmp_d(exact, e.lo) >= 0 && mpfr_cmp_d(exact, e.hi) <= 0;
}

/// A point of the interval: an end or something between.
double member(const interval& x, std::mt19937_64& random) {
  const auto pick = random() % 3;
  if (pick < 2) return pick == 0 ? x.lo : x.hi;
  const double t = static_cast<double>(random() >> 11) * 0x1p-53;
  return std::clamp(x.lo * (1 - t) + x.hi * t, x.lo, x.hi);
}

/// Ulps between the ends when the operands are points.
double width_ulps(const interval& e) {
  const double size = std::max(std::fabs(e.lo), std::fabs(e.hi));
  return (e.hi - e.lo) / (std::nextafter(size, infinity) - size);
}

void check_binary(interval (*operate)(const interval&, const interval&), binary exactly, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  reference a, b, c;
  double widest = 0;
  std::int64_t wrong = 0;
  for (int i = 0; i < 30000; ++i) {
    const interval x = random_interval(random), y = random_interval(random), z = operate(x, y);
    if (!(z.lo <= z.hi)) ++wrong;
    for (int n = 0; n < 4; ++n) {
      mpfr_set_d(a.value, member(x, random), MPFR_RNDN);
      mpfr_set_d(b.value, member(y, random), MPFR_RNDN);
      exactly(c.value, a.value, b.value, MPFR_RNDN);
      if (mpfr_nan_p(c.value) == 0 && !holds(z, c.value)) ++wrong;
    }
    const double size = std::fabs(z.lo);
    if (x.lo == x.hi && y.lo == y.hi && size > 0x1p-900 && size < 0x1p900) widest = std::max(widest, width_ulps(z));
  }
  CHECK(wrong == 0);
  CHECK(widest <= 2);
}

void check_unary(interval (*operate)(const interval&), unary exactly, double least, double most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  reference a, c;
  mpfr_set_prec(a.value, 53);
  mpfr_set_prec(c.value, 120);
  double widest = 0;
  std::int64_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    interval x = random_interval(random);
    x = {std::clamp(x.lo, least, most), std::clamp(x.hi, least, most)};
    const interval z = operate(x);
    if (!(z.lo <= z.hi)) ++wrong;
    for (const double at : {x.lo, x.hi, member(x, random)}) {
      mpfr_set_d(a.value, at, MPFR_RNDN);
      exactly(c.value, a.value, MPFR_RNDN);
      if (!holds(z, c.value)) ++wrong;
    }
    if (x.lo == x.hi && std::fabs(z.lo) > 0x1p-900 && std::fabs(z.hi) < 0x1p900)
      widest = std::max(widest, width_ulps(z));
  }
  CHECK(wrong == 0);
  CHECK(widest <= 18);  // 4 ulp of the largest mantissa are 8 of the smallest, on both sides
}

}  // namespace

TEST_CASE("sums, differences, products and quotients of intervals hold the exact ones, within two ulps", "[oracle]") {
  check_binary(operator+, mpfr_add, 1);
  check_binary(operator-, mpfr_sub, 2);
  check_binary(operator*, mpfr_mul, 3);
  check_binary(operator/, mpfr_div, 4);
}

TEST_CASE("exp2, exp, log and tanh of intervals hold the exact ones, within 18 ulps", "[oracle]") {
  check_unary(exp2, mpfr_exp2, -1100, 1023, 5);
  check_unary(exp, mpfr_exp, -800, 709, 6);
  check_unary(log, mpfr_log, 0x1p-1022, 0x1.fffffffffffffp1023, 7);
  check_unary(tanh, mpfr_tanh, -1e300, 1e300, 8);
}

TEST_CASE("exact cases stay points", "[oracle]") {
  CHECK(width_ulps(point(1.5) + point(0.25)) == 0);
  CHECK(width_ulps(point(0) * point(3)) == 0);
  CHECK(exp2(point(0)).hi == 1);
  CHECK(exp(point(0)).lo == 1);
  CHECK(log(point(1)).hi == 0);
}

TEST_CASE("what has no value says nothing instead of something wrong", "[oracle]") {
  CHECK(is_everything(interval{1, 2} / interval{-1, 1}));
  CHECK(is_everything(point(0) / point(0)));
  CHECK(is_everything(log(interval{0, 1})));
  CHECK(is_everything(log(interval{-1, 1})));
  CHECK(is_everything(everything + point(1)));
  CHECK(is_everything(everything * point(0)));
  CHECK(is_everything(point(std::nan("")) + point(1)));
  CHECK(is_everything(round_f32(point(0x1p128))));
}

TEST_CASE("f32 roundings of a value lie in its widened interval, and at the largest error they use most of it",
          "[oracle]") {
  std::mt19937_64 random(9);
  for (int i = 0; i < 20000; ++i) {
    const double x =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 270) - 148);
    const interval e = round_f32(point(x));
    CHECK((contains(e, static_cast<double>(static_cast<float>(x))) || x > 0x1.fffffep127));
    CHECK(e.hi - e.lo <= x * 0x1.001p-23 + 0x1p-146);
  }
}

}  // namespace assay::oracle
