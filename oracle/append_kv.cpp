/// The contract of append_kv in intervals.
///
/// u = 2^-24. Every count n of roundings is an "at most": exact arithmetic is admissible too. If all factors but one
/// are powers of two, no rounding changes anything, in any order of the factors. A single rounding rounds the result
/// itself. It is monotone, so the f32 numbers next to both ends enclose the rounded result. With several roundings, all
/// but the last may round any intermediate result and count as relative errors.
///   x    sums of two exact products are exact or rounded outward; the contract's error and, since products may
///        underflow, 2^-148 for each rounding. A zero product has no error.
///   D'   one rounding is the judge's, for what is stored is an f32: the enclosure of D' has n - 1 of them. Codes are
///        divided by what was stored, so by the f32 next to its ends, or by the exact quotient.
///   y    x / D' may be x times a reciprocal, rounded each. With |D'| in f32's normal range, and below 2^126, the
///        reciprocal is neither infinite nor subnormal; beyond, there is no bound. The last result may underflow, and
///        overflow only to where codes saturate.
///   old  value * D / D' in any order of its three factors: a first result that underflows, by 2^-149, meets the
///        third factor, |value|, D or 1 / D'. value * D may overflow: then there is no bound.
/// The enclosures allow that D' stays D: an old code lies between its value and its value rescaled by the largest D'.
#include "oracle/append_kv.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "oracle/append_walk.hpp"
#include "oracle/atoms.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;
constexpr double underflow = 2 * f32_underflow;  // of one operation, with what follows it: see round_f32()
constexpr double least_descale = 0x1p-64;

interval hull(const interval& a, const interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

double magnitude(const interval& x) {
  return std::max(std::fabs(x.lo), std::fabs(x.hi));
}

/// The binary64 number next to x / s below it, or the quotient itself. The remainder of a division rounded to nearest
/// is exact: operands are between 2^-300 and 2^300, so nothing underflows.
double quotient_down(double x, double s) {
  const double q = x / s, rest = std::fma(-q, s, x);
  return rest != 0 && (rest < 0) == (s > 0) ? std::nextafter(q, -infinity) : q;
}

/// x / s, for s without 0.
interval quotient(const interval& x, const interval& s) {
  interval q{infinity, -infinity};
  for (const double a : {x.lo, x.hi})
    for (const double b : {s.lo, s.hi}) q = hull(q, {quotient_down(a, b), -quotient_down(-a, b)});
  return q;
}

/// At most `times` roundings to f32 on the way to what lies in q, with `absolute` for each that underflows. What
/// exceeds f32's numbers is left there: it saturates.
interval widened(const interval& q, std::int32_t times, double absolute) {
  if (times == 0 || (q.lo == 0 && q.hi == 0)) return q;
  return widen(q, times * unit * (1 + 0x1p-16), times * absolute);  // times <= 2^8: as in round_f32()
}

/// q and the f32 numbers next to its ends.
interval and_next_f32(const interval& q) {
  if (magnitude(q) > f32_largest) return widened(q, 1, 0);
  return hull(q, {static_cast<double>(static_cast<float>(q.lo)), static_cast<double>(static_cast<float>(q.hi))});
}

/// Like widened(), if the last of the roundings rounds q itself.
interval rounded(const interval& q, std::int32_t times, double absolute) {
  return times == 1 ? and_next_f32(q) : widened(q, times, absolute);
}

/// A number that is a power of two, with its sign, in the range where products and reciprocals of it are exact.
bool is_power_of_two(const interval& x) {
  int exponent = 0;
  return x.lo == x.hi && std::fabs(std::frexp(x.lo, &exponent)) == 0.5 && std::abs(exponent) <= 100;
}

/// Divisors whose reciprocals are normal f32 numbers.
bool has_reciprocal(const interval& s) {
  return std::min(std::fabs(s.lo), std::fabs(s.hi)) >= 0x1p-126 && magnitude(s) <= 0x1p126 && (s.lo > 0) == (s.hi > 0);
}

class contract_numbers {
 public:
  using number = interval;
  struct scale {
    interval stored;    ///< D', before its last rounding
    interval used;      ///< by which codes are divided
    double before = 0;  ///< D
    bool may_grow = false;
  };

  explicit contract_numbers(const contract& declared) : declared_(declared) {
    for (const std::int32_t n :
         {declared.rotary_roundings, declared.scale_roundings, declared.quantise_roundings, declared.rescale_roundings})
      if (n < 0 || n > 256) throw std::invalid_argument("oracle: a rounding count of append_kv is not in [0, 256]");
  }

  static interval exactly(double x) { return point(x); }

  std::optional<interval> rotated(double a, double c, double b, double s) const {
    const double first = a * c, second = b * s;  // exact: 24 bits each
    const double size = (std::fabs(first) + std::fabs(second)) * cover, n = declared_.rotary_roundings;
    if (size == 0) return point(0);
    const interval x = widen(point(first) + point(second), 0, n * (unit * size + underflow));
    if (magnitude(x) > f32_largest || size > f32_largest) return std::nullopt;
    return x;
  }

  static interval largest(const interval& before, const interval& x) {
    const double least = x.lo > 0 ? x.lo : x.hi < 0 ? -x.hi : 0.0;
    return {std::max(before.lo, least), std::max(before.hi, magnitude(x))};
  }

  static interval stored(const interval& x) { return x; }

  static std::optional<scale> of_tensor(double s) {
    if (!std::isfinite(s) || s == 0) return std::nullopt;
    return scale{point(s), point(s)};
  }

  std::optional<scale> of_page(const interval& most, double f, bool is_fresh, double before) const {
    const double floor = is_fresh ? least_descale : before;
    const interval grown = widened(quotient(most, point(f)), std::max(0, declared_.scale_roundings - 1), underflow);
    scale s;
    s.stored = {std::max(grown.lo, floor), std::max(grown.hi, floor)};
    s.used = and_next_f32(s.stored);
    s.before = before;
    s.may_grow = !is_fresh && grown.hi > before;
    return s;
  }

  static interval descale(const scale& s) { return s.stored; }
  static bool grows(const scale& s) { return s.may_grow; }

  interval code(const interval& x, const scale& s) const {
    if (!has_reciprocal(s.used)) return everything;
    const interval y = quotient(x, s.used);
    return is_power_of_two(s.used) ? y : rounded(y, declared_.quantise_roundings, underflow);
  }

  interval rescaled(double value, const scale& s) const {
    if (value == 0) return point(0);
    const double size = std::fabs(value);
    if (!has_reciprocal(s.used) || size * s.before > f32_largest) return everything;
    const interval y = quotient(point(value * s.before), s.used);  // the product is exact: 8 and 24 bits
    const double absolute = underflow * (1 + size + s.before + 1 / s.used.lo) * cover;
    const bool is_exact = is_power_of_two(point(s.before)) && is_power_of_two(s.used);
    return is_exact ? y : rounded(y, declared_.rescale_roundings, absolute);
  }

 private:
  const contract& declared_;
};

}  // namespace

enclosure enclose_append_kv(const problem& planned, std::span<const named_tensor> inputs, const contract& declared) {
  const contract_numbers numbers(declared);
  return append_walk<contract_numbers>(planned, inputs, numbers).run();
}

}  // namespace assay::oracle
