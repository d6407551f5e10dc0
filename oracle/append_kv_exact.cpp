/// The definition of append_kv, as problem.hpp states it, in MPFR.
///
/// Nothing is rounded before the end. A product of two f32 numbers is a multiple of 2^-298 below 2^256, so the sum of
/// two has 555 bits at most; times a code's value or F, 9 bits more and a scale 24: 200 digits, 664 bits, hold it. D'
/// is kept as a fraction, A / F, D / 1 or 2^-64 / 1. Each result is one quotient, rounded down and up, and its ends to
/// binary64 in the same directions.
#include <stdexcept>

#include <boost/multiprecision/mpfr.hpp>

#include "oracle/append_kv.hpp"
#include "oracle/append_walk.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

using wide =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<200, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

double down(const wide& x) {
  return mpfr_get_d(x.backend().data(), MPFR_RNDD);
}
double up(const wide& x) {
  return mpfr_get_d(x.backend().data(), MPFR_RNDU);
}

interval quotient(const wide& x, const wide& s) {
  wide below, above;
  mpfr_div(below.backend().data(), x.backend().data(), s.backend().data(), MPFR_RNDD);
  mpfr_div(above.backend().data(), x.backend().data(), s.backend().data(), MPFR_RNDU);
  return {down(below), up(above)};
}

struct exact_numbers {
  using number = wide;
  struct scale {
    wide numerator, denominator;  ///< of D'
    double before = 0;            ///< D
    bool grows = false;
  };

  static wide exactly(double x) { return wide(x); }
  static std::optional<wide> rotated(double a, double c, double b, double s) {
    return wide(a) * wide(c) + wide(b) * wide(s);
  }
  static wide largest(const wide& before, const wide& x) {
    const wide size = x < 0 ? wide(-x) : x;
    return size > before ? size : before;
  }
  static interval stored(const wide& x) { return {down(x), up(x)}; }

  static std::optional<scale> of_tensor(double s) {
    if (!std::isfinite(s) || s == 0) return std::nullopt;
    return scale{wide(s), wide(1)};
  }
  static std::optional<scale> of_page(const wide& most, double f, bool is_fresh, double before) {
    const double floor = is_fresh ? 0x1p-64 : before;
    const bool is_above = most > wide(floor) * wide(f);
    scale s{wide(floor), wide(1), before, is_above && !is_fresh};
    if (is_above) s.numerator = most, s.denominator = wide(f);
    return s;
  }
  static interval descale(const scale& s) { return quotient(s.numerator, s.denominator); }
  static bool grows(const scale& s) { return s.grows; }
  static interval code(const wide& x, const scale& s) { return quotient(x * s.denominator, s.numerator); }
  static interval rescaled(double value, const scale& s) {
    return quotient(wide(value) * wide(s.before) * s.denominator, s.numerator);
  }
};

}  // namespace

enclosure evaluate_append_kv_exactly(const problem& planned, std::span<const named_tensor> inputs) {
  return append_walk<exact_numbers>(planned, inputs, exact_numbers{}).run();
}

}  // namespace assay::oracle
