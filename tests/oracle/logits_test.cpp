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

/// With constants and logits that are known.
contract fused_contract() {
  contract c;
  c.constant_roundings = 1;
  c.fuses_logits = 1;
  c.p_type = dtype::e4m3fn;
  return c;
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

TEST_CASE("a constant rounded once is the f32 that it is, and so is its product with a descale", "[oracle]") {
  std::mt19937_64 random(3);
  contract c = fused_contract();
  std::int64_t free = 0;
  for (int i = 0; i < 1000; ++i) {
    problem p = with_scale(static_cast<float>(0.01 + testing::uniform(random)));
    p.k_scale = static_cast<float>(0.01 + testing::uniform(random));
    const logit_scale launch = scale_of(p, c);
    REQUIRE(launch.is_usable);
    if (!launch.is_pinned) {
      ++free;
      continue;
    }
    const long double log2e = 1.44269504088896340735992468100189214L;
    const auto c2 = static_cast<float>(static_cast<long double>(p.scale) * static_cast<long double>(p.k_scale) * log2e);
    CHECK(launch.factor == static_cast<double>(c2));
    CHECK(launch.common_error == 0);
    const auto descale = static_cast<float>(0.01 + testing::uniform(random));
    CHECK(scale_of_tile(launch, static_cast<double>(descale)).factor == static_cast<double>(c2 * descale));
    CHECK(scale_of_tile(launch, static_cast<double>(descale)).factor_error == 0);
  }
  CHECK(free <= 1);
  for (const double bad : {0.0, -1.0, 1e-40, 1e39, std::nan("")})
    CHECK(!scale_of_tile(scale_of(with_scale(1), c), bad).is_usable);
  c.constant_roundings = 2;
  CHECK(!scale_of(with_scale(0.1F), c).is_pinned);
  CHECK(!scale_of(with_scale(0.1F), c).snaps);
  CHECK(scale_of_tile(scale_of(with_scale(0.1F), c), 0.3).factor_error >= 0x1p-24);
  c.constant_roundings = 1;
  c.p_type = dtype::f32;  // exact arithmetic is admissible: nothing is pinned
  CHECK(!scale_of(with_scale(0.1F), c).is_pinned);
}

TEST_CASE("fused maximum, base and argument are f32's own where the logits are known", "[oracle]") {
  std::mt19937_64 random(4);
  contract c = fused_contract();
  c.p_shift = 8;
  const logit_scale scale = scale_of(with_scale(0.1F), c);
  REQUIRE(scale.snaps);
  std::int64_t outside = 0, open = 0, above_peak = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto size = static_cast<float>(std::ldexp(1.0, static_cast<int>(random() % 12)));
    const float c2 = static_cast<float>(scale.factor), top = size * static_cast<float>(testing::normal(random));
    const float a = i % 4 == 0 ? top : top - size * static_cast<float>(testing::uniform(random));
    const float m = c2 * top, base = m - 8.0F, d = std::fma(a, c2, -base);
    double w[] = {static_cast<double>(a), static_cast<double>(top)}, e[] = {0, 0};
    to_logits(scale, nullptr, 2, w, e);
    const logit_gap rounded = round_to_f32(scale, w[1], e[1]);
    outside += !(std::fabs(static_cast<double>(m) - rounded.mid) <= rounded.radius);
    const logit_gap held = base_of(scale, rounded.mid, rounded.radius, 8);
    outside += !(std::fabs(static_cast<double>(base) + 8 - held.mid) <= held.radius);
    const logit_gap found = gap(scale, w[0], e[0], held.mid, held.radius, 8);
    outside += !(std::fabs(static_cast<double>(d) - found.mid) <= found.radius);
    open += found.radius > 0;
    const probability peak = peak_of(scale, rounded.mid, rounded.radius, c);
    above_peak += !(std::exp2(static_cast<double>(d)) <= peak.hi);
    if (i % 4 == 0) above_peak += !(std::exp2(static_cast<double>(d)) >= peak.lo);
  }
  CHECK(outside == 0);
  CHECK(above_peak == 0);
  CHECK(open < 20);
}

TEST_CASE("beside a large maximum a fused kernel rounds its logits, beside others not", "[oracle]") {
  std::mt19937_64 random(5);
  constexpr float least = 0x1p16F;
  contract c = fused_contract();
  c.least_rounded_maximum = least;
  const logit_scale scale = scale_of(with_scale(0.1F), c);
  REQUIRE(scale.snaps);
  const float c2 = static_cast<float>(scale.factor);
  // In how many of 1,000 tiles exp2's argument of a key that is `below` the maximum may not be what this makes of it.
  const auto count_outside = [&](float top, float below, auto argument) {
    int outside = 0;
    for (int i = 0; i < 1000; ++i) {
      const float a_top = top / c2 * static_cast<float>(1 + testing::uniform(random));
      const float a = a_top - below / c2 * static_cast<float>(testing::uniform(random));
      double w[] = {static_cast<double>(a), static_cast<double>(a_top)}, e[] = {0, 0};
      to_logits(scale, nullptr, 2, w, e);
      const logit_gap maximum = round_to_f32(scale, w[1], e[1]);
      const logit_gap found = gap(scale, w[0], e[0], maximum.mid, maximum.radius);
      outside += !(std::fabs(static_cast<double>(argument(a, c2 * a_top)) - found.mid) <= found.radius);
    }
    return outside;
  };
  double w[] = {0}, e[] = {0x1p30 / scale.factor};  // a logit may be large where its midpoint is not
  to_logits(scale, nullptr, 1, w, e);
  CHECK(e[0] >= 0x1p30 + 0x1p6);
  const auto fused = [&](float a, float m) { return std::fma(a, c2, -m); };
  const auto rounded = [&](float a, float m) {
    const volatile float y = a * c2;
    return y - m;
  };
  for (const float top : {least, 16 * least, 0x1p30F, -2 * least}) {
    CHECK(count_outside(top, 200, rounded) == 0);
    if (top > 0) CHECK(count_outside(top, 200, fused) > 900);  // else the maximum may be small
    const probability peak = peak_of(scale, static_cast<double>(top), 0, c);
    CHECK(peak.lo == 1);
    CHECK(peak.hi == 1);
  }
  CHECK(peak_of(scale, least - 1.0, 0, c).hi > 1.001);
  CHECK(peak_of(scale, least, 1, c).hi > 1.001);  // it may be below
  CHECK(peak_of(scale, 0, 1e30, c).hi < 1.003);
  CHECK(count_outside(least / 4, 20, fused) == 0);
  CHECK(count_outside(least / 4, 20, rounded) > 900);
  CHECK(count_outside(10, 20, rounded) > 200);  // a sum near the maximum often rounds to the same
}

TEST_CASE("a logit close below a large least rounded maximum may be rounded up to it", "[oracle]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  contract c = fused_contract();
  for (const float least : {1.0F, 0x1p16F, 0x1p24F, 0x1p36F, 0x1p100F}) {
    c.least_rounded_maximum = least;
    int equal = 0;
    for (int i = 0; i < 400; ++i) {
      const logit_scale scale = scale_of(with_scale(0.1F + 0.001F * static_cast<float>(i)), c);
      const float c2 = static_cast<float>(scale.factor);
      const auto rounded = [&](float a) -> float {
        const volatile float y = a * c2;
        return y;
      };
      float below = least / c2 * (1 - 0x1p-20F);  // the least one that is rounded to that maximum, or above
      while (rounded(below) < least) below = std::nextafter(below, infinity);
      const float top = std::nextafter(below, infinity);
      double w[] = {static_cast<double>(below), static_cast<double>(top)}, e[] = {0, 0};
      to_logits(scale, nullptr, 2, w, e);
      const logit_gap maximum = round_to_f32(scale, w[1], e[1]);
      const probability p = exp2_of(gap(scale, w[0], e[0], maximum.mid, maximum.radius), c, 1.0);
      const double of_rounded = std::exp2(static_cast<double>(rounded(below)) - static_cast<double>(rounded(top)));
      equal += rounded(below) == rounded(top) ? 1 : 0;
      CHECK(p.lo <= of_rounded);
      CHECK(of_rounded <= p.hi);
    }
    CHECK(equal > 0);
  }
}

TEST_CASE("the peak is exactly 1 without shift and fusion, else 2^shift up to roundings", "[oracle]") {
  contract c;
  CHECK(peak_of(scale_of(with_scale(1), c), 1e6, 1, c).lo == 1);
  CHECK(peak_of(scale_of(with_scale(1), c), 1e6, 1, c).hi == 1);
  c.p_shift = 7;
  const probability p = peak_of(scale_of(with_scale(1), c), 10, 0, c);
  CHECK(p.lo < 128);
  CHECK(p.hi > 128);
  CHECK(p.hi - p.lo < 128 * 1e-5);
}

}  // namespace assay::oracle
