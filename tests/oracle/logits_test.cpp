/// Logits and probabilities hold what MPFR says of the ends of their operands, and are not wide beside them.
#include "oracle/logits.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <mpfr.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/oracle/setting.hpp"

namespace assay::oracle {
namespace {

/// Whether lo <= 2^x (1 + error) <= hi, or `hi` is the ceiling 1.
bool holds(const probability& p, double x, double error) {
  mpfr_t value;
  mpfr_init2(value, 200);
  mpfr_set_d(value, x, MPFR_RNDN);
  mpfr_exp2(value, value, MPFR_RNDN);
  mpfr_mul_d(value, value, 1 + error, MPFR_RNDN);
  const bool inside = mpfr_cmp_d(value, p.lo) >= 0 && (p.hi == 1 || mpfr_cmp_d(value, p.hi) <= 0);
  mpfr_clear(value);
  return inside;
}

problem with_scale(float scale) {
  problem p;
  p.scale = scale;
  return p;
}

}  // namespace

TEST_CASE("probabilities hold 2^d for every d of the gap, its error included, and never exceed 1", "[oracle]") {
  std::mt19937_64 random(1);
  contract c;
  c.exp2_flush = 0;
  const auto error = static_cast<double>(c.exp2_relative_error);
  std::int64_t wrong = 0, wide = 0;
  for (int i = 0; i < 20000; ++i) {
    const double mid = -testing::uniform(random) * (i % 3 == 0 ? 0.001 : i % 3 == 1 ? 30.0 : 149.0);
    const double radius = std::ldexp(testing::uniform(random), -static_cast<int>(random() % 40));
    const probability p = exp2_of({mid, radius}, c);
    wrong += !(p.lo >= 0 && p.lo <= p.hi && p.hi <= 1);
    // Members: the ends themselves may be rounded outward of the gap here.
    for (const double x : {std::nextafter(mid - radius, mid), mid, std::nextafter(mid + radius, mid)})
      if (x <= 0) wrong += !holds(p, x, error) || !holds(p, x, -error);
    const double size = std::exp2(mid);
    wide += radius < 0.01 && mid > -120 && !(p.hi - p.lo <= size * 1.01 * (2 * 0.694 * radius + 2 * error + 0x1p-48));
  }
  CHECK(wrong == 0);
  CHECK(wide == 0);
}

TEST_CASE("exp2 results below the declared threshold may be zero, others may not", "[oracle]") {
  contract c;
  CHECK(exp2_of({-126.5, 0}, c).lo == 0);
  CHECK(exp2_of({-126.5, 0}, c).hi > 0);
  CHECK(exp2_of({-125.5, 0}, c).lo > 0);
  CHECK(exp2_of({-5000, 1}, c).hi <= 0x1p-149);
}

TEST_CASE("a logit from a dot product holds f32's, for constants and products rounded either way", "[oracle]") {
  std::mt19937_64 random(2);
  contract c;
  const double log2e = 1.4426950408889634;
  std::int64_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto scale_f32 = static_cast<float>(testing::normal(random));
    const logit_scale scale = scale_of(with_scale(scale_f32), c);
    REQUIRE(scale.is_usable);
    const auto dot = static_cast<double>(static_cast<float>(100 * testing::normal(random)));
    double w = dot, e = 0;
    to_logits(scale, nullptr, 1, &w, &e);
    double constant = static_cast<double>(scale_f32) * log2e;
    for (int n = 0; n < c.constant_roundings; ++n) constant *= 1 + (random() % 2 == 0 ? 1 : -1) * 0x1p-24;
    const double y = dot * constant * (1 + (random() % 2 == 0 ? 1 : -1) * 0x1p-24);
    if (!(std::fabs(y - w) <= e + scale.common_error * std::fabs(w))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("constants outside of f32's normal range are not guessed at", "[oracle]") {
  problem p = with_scale(1e-30F);
  p.q_scale = 1e-20F;
  CHECK(!scale_of(p, {}).is_usable);
  p.q_scale = 1e30F;
  CHECK(scale_of(p, {}).is_usable);
  CHECK(scale_of(with_scale(0), {}).is_usable);
  CHECK(scale_of(with_scale(0), {}).factor == 0);
  CHECK(scale_of(with_scale(-1), {}).is_usable);
  p = with_scale(1);
  p.soft_cap = 1e-38F;
  CHECK(!scale_of(p, {}).is_usable);
}

}  // namespace assay::oracle
