/// Whether two runs of one problem in different ways (split counts, kinds of descales) agree.
#pragma once

#include <optional>
#include <string>

#include "properties/run/execute.hpp"

namespace assay::relations {

/// A run, what it was given, and its enclosure.
struct enclosed_run {
  const inputs& given;
  const execution& ran;
  const oracle::enclosure& bounds;
  std::string how;  ///< distinguishes the run: "2 splits"
};

/// The first element of o or lse in which two runs of the same inputs differ by more than their contracts can explain.
///
/// Let E be the result in exact arithmetic. A run's value lies in its enclosure, of width w, together with a value that
/// differs from E only by the rounding of P. LSE sums the p before their rounding, so |a - b| <= w_a + w_b. Rounding
/// moves each p_j by at most u p_j + tiny, hence O by at most (u + n tiny) max|v| for n keys, as the sum of the p is at
/// least 1 once rescaled to its maximum; with p_shift, tiny is a 2^p_shift-th of what it is in P's type. O is then
/// rounded to its type, which moves it by at most half a spacing. An enclosure by what atoms compute exactly holds no
/// other value, such as that one: then w is that of the enclosure by their bounds, but where the same atoms make the
/// same logits of both. `in`: with all scales that both have.
std::optional<std::string> first_disagreement(const inputs& in, const enclosed_run& a, const enclosed_run& b);

/// The worst element of outputs that lie outside the enclosure of another run that admits the same: "o[0, 1] = ...".
std::optional<std::string> first_outside(const oracle::enclosure& bounds, const outputs& written);

/// Half a spacing of a float type at x; infinity beyond its numbers.
double half_spacing(dtype type, double x);

/// Whether two elements of a type can be roundings of numbers that are at most `apart` apart. NaN is none of a number;
/// infinity is one of numbers that overflow.
bool may_be_rounded(dtype type, double u, double v, double apart);

/// Whether an element may be the rounding of a number within `error` of `value`.
bool may_be_stored(dtype type, double stored, double value, double error);

}  // namespace assay::relations
