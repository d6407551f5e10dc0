/// The numbers in which the definition is evaluated: MPFR, and binary64 where its errors are small enough.
#pragma once

#include <boost/multiprecision/mpfr.hpp>

#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {

/// 38 digits give 128 bits.
using mpfr_number =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<38, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

/// `unit`: the relative error of one operation. `down`, `up`: the binary64 numbers around a value.
template <class Real>
struct arithmetic;

template <>
struct arithmetic<mpfr_number> {
  static constexpr double unit = 0x1p-127;
  static double down(const mpfr_number& x) { return mpfr_get_d(x.backend().data(), MPFR_RNDD); }
  static double up(const mpfr_number& x) { return mpfr_get_d(x.backend().data(), MPFR_RNDU); }
};

/// 2^-52 and not 2^-53: the C library's exp, log and tanh are right within an ulp, not within half of one.
template <>
struct arithmetic<double> {
  static constexpr double unit = 0x1p-52;
  static double down(double x) { return x; }
  static double up(double x) { return x; }
};

/// The tightest binary64 interval about a value and its error; everything where one of them is not finite.
template <class Real>
interval outward(const Real& value, double error) {
  using std::isfinite;
  if (!(error < infinity) || !isfinite(value)) return everything;
  const interval around{arithmetic<Real>::down(value), arithmetic<Real>::up(value)};
  return error == 0 ? around : widen(around, 0, error);
}

}  // namespace assay::oracle
