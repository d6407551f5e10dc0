#include "oracle/interval.hpp"

#include <algorithm>
#include <cmath>

namespace assay::oracle {
namespace {

double below(double x) {
  return std::nextafter(x, -infinity);
}
double above(double x) {
  return std::nextafter(x, infinity);
}

bool is_finite(const interval& x) {
  return std::isfinite(x.lo) && std::isfinite(x.hi);
}

/// Rounding to nearest misses the exact value by less than the distance to the next number.
interval outward(double lo, double hi) {
  if (std::isnan(lo) || std::isnan(hi)) return everything;
  return {below(lo), above(hi)};
}

/// Rounding error of a + b, exactly (Knuth's TwoSum; no overflow here); its sign tells on which side the sum lies.
double sum_error(double a, double b, double sum) {
  const double b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

interval by_libm(double lo, double hi) {
  constexpr double margin = 0x1p-50;  // 4 ulp: an ulp is at most 2^-52 of a normal value
  constexpr double tiny = 0x1p-1072;  // 4 quanta of the subnormals
  if (std::isnan(lo) || std::isnan(hi)) return everything;
  return {below(lo - std::fabs(lo) * margin) - tiny, above(hi + std::fabs(hi) * margin) + tiny};
}

}  // namespace

interval operator+(const interval& x, const interval& y) {
  if (!is_finite(x) || !is_finite(y)) return everything;
  const double lo = x.lo + y.lo, hi = x.hi + y.hi;
  return {sum_error(x.lo, y.lo, lo) < 0 || std::isinf(lo) ? below(lo) : lo,
          sum_error(x.hi, y.hi, hi) > 0 || std::isinf(hi) ? above(hi) : hi};
}

interval operator-(const interval& x, const interval& y) {
  return x + interval{-y.hi, -y.lo};
}

interval operator*(const interval& x, const interval& y) {
  if (!is_finite(x) || !is_finite(y)) return everything;
  if ((x.lo == 0 && x.hi == 0) || (y.lo == 0 && y.hi == 0)) return point(0);
  const auto [lo, hi] = std::minmax({x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi});
  return outward(lo, hi);
}

interval operator/(const interval& x, const interval& y) {
  if (!is_finite(x) || !is_finite(y) || (y.lo <= 0 && y.hi >= 0)) return everything;
  if (x.lo == 0 && x.hi == 0) return point(0);
  const auto [lo, hi] = std::minmax({x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi});
  return outward(lo, hi);
}

interval exp2(const interval& x) {
  if (x.lo == 0 && x.hi == 0) return point(1);
  const interval y = by_libm(std::exp2(x.lo), std::exp2(x.hi));
  return {std::max(y.lo, 0.0), y.hi};
}

interval exp(const interval& x) {
  if (x.lo == 0 && x.hi == 0) return point(1);
  const interval y = by_libm(std::exp(x.lo), std::exp(x.hi));
  return {std::max(y.lo, 0.0), y.hi};
}

interval log(const interval& x) {
  if (!(x.lo > 0) || std::isinf(x.hi)) return everything;
  if (x.lo == 1 && x.hi == 1) return point(0);
  return by_libm(std::log(x.lo), std::log(x.hi));
}

interval tanh(const interval& x) {
  if (x.lo == 0 && x.hi == 0) return point(0);
  const interval y = by_libm(std::tanh(x.lo), std::tanh(x.hi));
  return {std::max(y.lo, -1.0), std::min(y.hi, 1.0)};
}

interval widen(const interval& x, double relative, double absolute) {
  if (!is_finite(x)) return everything;
  // The factor covers the rounding of the margin itself.
  constexpr double covered = 1 + 0x1p-50;
  return {below(x.lo - (std::fabs(x.lo) * relative + absolute) * covered),
          above(x.hi + (std::fabs(x.hi) * relative + absolute) * covered)};
}

interval round_f32(const interval& x, int times) {
  // (1 + 2^-24)^n - 1 <= n 2^-24 (1 + 2^-16) for n <= 2^8, and the absolute errors grow by less than the factor 2.
  const interval y = widen(x, times * 0x1p-24 * (1 + 0x1p-16), times * 0x1p-148);
  return y.lo < -0x1.fffffep127 || y.hi > 0x1.fffffep127 ? everything : y;
}

}  // namespace assay::oracle
