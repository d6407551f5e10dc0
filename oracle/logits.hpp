/// Base-2 logits of the contract, with bounds of their rounding errors.
///
/// y_j = w_j (1 + theta) + e_j with |e_j| <= e[j] and one common |theta| <= scale.common_error for the whole launch:
/// the constants (c2, or log2e) are rounded once and then used for every key, so their error is a change of softmax
/// temperature. In differences of logits it scales with |w_j - w_k|, not with |w_j| + |w_k|.
///
/// Where the contract says enough, f32 numbers are known and not merely enclosed:
/// - A constant that is rounded once is the f32 next to a number known to 2^-50 of it. That is a single f32, unless the
///   number lies within 2^-50 of the middle of two. With a single f32, theta is 0, and so is the error of c2 * kd,
///   which is rounded once too.
/// - With `fuses_logits`, running maximum, base and argument of exp2 are f32 roundings of a_j * c2. Rounding is
///   monotone, so rounding both ends of a known interval encloses them, often as a single number.
/// This does not hold if P is not rounded (p_type f32): then exact arithmetic is admissible too, as in atoms.hpp.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "oracle/atoms.hpp"

namespace assay::oracle {

/// Margin that covers binary64's own roundings in the radii of logits: each is a sum of a few nonnegative terms that
/// contains 2^-24 |w|, and w carries at most 8 binary64 roundings, 2^-50 |w| in all, far below 2^-10 * 2^-24 |w|.
inline constexpr double logit_cover = 1 + 0x1p-10;

/// How the scalars of a problem turn a dot product into a logit.
struct logit_scale {
  double factor = 0;        ///< c2, or c1 with soft cap or bias, times the tile's k descale; binary64
  double factor_error = 0;  ///< relative error of the kernel's f32 constant c1 and of its product with the descale
  double common_error = 0;  ///< bound of |theta|
  double log2_e = 0;        ///< as the kernel has it, up to common_error, where it is a factor of its own
  double base_2_error = 0;  ///< relative error of a constant log2(e) of its own
  double soft_cap = 0;
  double soft_cap_error = 0;  ///< relative error of t / soft_cap
  double tanh_error = 0;
  bool is_direct = true;   ///< neither soft cap nor bias: y = a * c2
  bool is_pinned = false;  ///< `factor` is the kernel's f32 constant itself
  bool is_fused = false;   ///< y is not rounded, but beside maxima of at least
  double least_rounded = std::numeric_limits<double>::infinity();
  bool snaps = false;         ///< is_fused, and a rounded value counts as exactly that f32 number
  bool is_any_order = false;  ///< dot products are joined in any order, with the errors `dot`
  product_error dot;
  bool is_usable = false;  ///< false: a constant leaves f32's normal range, so there is no bound
};

logit_scale scale_of(const problem& stated, const contract& declared);

/// That of a tile whose page has this k descale. Unusable unless the descale is finite and above 0 and its product with
/// the constant is a normal f32.
logit_scale scale_of_tile(const logit_scale& launch, double k_descale);

/// Turns dot products (w[], e[] as midpoint and radius) into logits, in place. `bias` may be null. A logit that
/// certainly overflows downwards is -inf with radius 0; any other that may leave f32's range has radius infinity.
void to_logits(const logit_scale& scale, const double* bias, std::int64_t count, double* w, double* e);

/// A number known as [mid - radius, mid + radius].
struct logit_gap {
  double mid = 0;
  double radius = 0;
};

/// Some number within `error` of x rounded once to f32, a tie of x itself to even. Beyond f32's range, and where
/// nothing is known, the radius is infinite.
logit_gap round_to_f32(const logit_scale& scale, double x, double error);

/// The base of a tile's exponents: f32(m - shift), m known as (w, error). Held as base + shift, which is m but for that
/// rounding: comparable with logits.
logit_gap base_of(const logit_scale& scale, double w, double error, double shift);

/// A difference of two logits that is at most 0, as the kernel computes it: f32(y - m). With `shift` that of a logit
/// and a base as base_of() holds it.
logit_gap gap(const logit_scale& scale, double w, double e, double w_max, double e_max, double shift = 0);

/// Enclosure of exp2 of a gap under the contract's error of exp2; within [0, most].
struct probability {
  double lo = 0;
  double hi = 0;
};
probability exp2_of(const logit_gap& d, const contract& declared, double most = 1);

/// p of the key that holds the running maximum (w, error), whichever it is: no p of the tile lies above it. Exactly 1
/// but for the roundings of a shifted base and of a fused maximum, which do not cancel.
probability peak_of(const logit_scale& scale, double w, double error, const contract& declared);

}  // namespace assay::oracle
