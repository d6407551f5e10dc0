/// Interval arithmetic in binary64, rounded outward. Every function encloses the exact image of its operands.
/// An unbounded operand ([-inf, inf]) or an undefined operation gives [-inf, inf].
#pragma once

#include <limits>

#include "oracle/enclosure.hpp"

namespace assay::oracle {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr interval everything{-infinity, infinity};

inline interval point(double x) {
  return {x, x};
}
inline bool is_everything(const interval& x) {
  return x.lo == -infinity && x.hi == infinity;
}
inline bool contains(const interval& x, double value) {
  return x.lo <= value && value <= x.hi;
}

interval operator+(const interval& x, const interval& y);
interval operator-(const interval& x, const interval& y);
interval operator*(const interval& x, const interval& y);
interval operator/(const interval& x, const interval& y);

/// Elementary functions by libm: its error is taken as at most 4 ulp (glibc states <= 2 ulp for each of them), which
/// tests/oracle/interval_test.cpp checks against MPFR. Values at 0 (exp2, exp, tanh) and at 1 (log) are exact.
interval exp2(const interval& x);
interval exp(const interval& x);
interval log(const interval& x);
interval tanh(const interval& x);

/// All values within a relative error of `relative` plus an absolute error of `absolute` of x's.
interval widen(const interval& x, double relative, double absolute = 0);

/// Results of at most `times` f32 roundings to nearest of x: relative 2^-24 each, and 2^-149 where they underflow.
/// Values beyond the largest f32 give [-inf, inf].
interval round_f32(const interval& x, int times = 1);

}  // namespace assay::oracle
