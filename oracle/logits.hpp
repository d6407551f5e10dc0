/// Base-2 logits of the contract, known up to what its roundings allow.
///
/// y_j = w_j (1 + theta) + e_j with |e_j| <= e[j] and one common |theta| <= scale.common_error for the whole launch:
/// the constants (c2, or log2e) are rounded once and then used for every key, so their error is a change of softmax
/// temperature. In differences of logits it scales with |w_j - w_k|, not with |w_j| + |w_k|.
#pragma once

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay::oracle {

/// Margin that covers binary64's own roundings in the radii of logits: each is a sum of a few nonnegative terms that
/// contains 2^-24 |w|, and w carries at most 8 binary64 roundings, 2^-50 |w| in all, far below 2^-10 * 2^-24 |w|.
inline constexpr double logit_cover = 1 + 0x1p-10;

/// What the scalars of a problem make of a dot product.
struct logit_scale {
  double factor = 0;        ///< c2, or c1 with soft cap or bias; binary64
  double factor_error = 0;  ///< relative error of the kernel's f32 constant c1; 0 where common_error has it
  double common_error = 0;  ///< bound of |theta|
  double soft_cap = 0;
  double soft_cap_error = 0;  ///< relative error of t / soft_cap
  double tanh_error = 0;
  bool is_direct = true;   ///< neither soft cap nor bias: y = a * c2
  bool is_usable = false;  ///< false: constants leave f32's normal range, nothing can be said
};

logit_scale scale_of(const problem& stated, const contract& declared);

/// Turns dot products (w[], e[] as midpoint and radius) into logits, in place. `bias` may be null.
void to_logits(const logit_scale& scale, const double* bias, std::int64_t count, double* w, double* e);

/// A difference of two logits that is at most 0, as the kernel computes it: f32(y - m).
struct logit_gap {
  double mid = 0;
  double radius = 0;
};
logit_gap gap(const logit_scale& scale, double w, double e, double w_max, double e_max);

/// Enclosure of exp2 of a gap under the contract's error of exp2; within [0, 1].
struct probability {
  double lo = 0;
  double hi = 0;
};
probability exp2_of(const logit_gap& d, const contract& declared);

}  // namespace assay::oracle
