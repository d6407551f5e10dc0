/// The errors that a contract allows in any order of operations; any_order.hpp has the proof and the names.
#pragma once

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "oracle/atoms.hpp"

namespace assay::oracle {

/// Of one row. Relative errors bound what all roundings on the way of a term make of it.
struct any_order_errors {
  double exponent = 0;             ///< of every argument of exp2
  double per_distance = 0;         ///< of an argument, times the way that it is
  double per_move = 0;             ///< natural logarithm of 1 + x
  double most_moves = 0;           ///< one per tile
  double merges = 0;               ///< nested states
  double sum_relative = 0;         ///< X_L
  double sum_absolute = 0;         ///< sum of a_j of all keys
  double output_relative = 0;      ///< X_O
  double output_absolute = 0;      ///< a_j, which meets |v_j|
  double normalised_absolute = 0;  ///< the same of P that was divided by l
  double absolute_of_p = 0;        ///< the largest P, in its own units, that may become 0
  double flat = 0;                 ///< underflow of products, in units of w v
  double normalised_flat = 0;      ///< the same, where P was divided by l
  double ends = 0;                 ///< relative, of the normalised O
  double underflow = 0;            ///< of the normalised O
  double growth = 0;               ///< no sum on the way exceeds this many times the largest |v|
  double growth_of_half = 0;       ///< nor anything that is rounded to f16; 0: nothing is
};

/// Of a row that sees so many keys, whose largest base-2 logit or sink has the magnitude `size`.
any_order_errors errors_of(const contract& declared, const problem& stated, std::int64_t keys, double size);

/// Of QK, for dot_in_any_order(), with per-tensor descales.
product_error dot_errors_of(const contract& declared, const problem& stated);

}  // namespace assay::oracle
