/// What a matrix unit computes, exactly: D = A B + C for one element, as data. Where a contract declares it, the oracle
/// evaluates the unit's own function instead of a bound. Plain data, shared with the oracle.
///
/// An atom takes `products` pairs (a_k, b_k) of one row and one column, and c, an f32 number. Its products are dealt to
/// products / group groups: runs of `run` neighbouring k go to the groups in turn, so that group = run means
/// neighbours, and run = 2 of two groups k = 0, 1, 4, 5, .. and k = 2, 3, 6, 7, ... Groups follow each other: what one
/// makes of c is the c of the next. What a group does is stated by `sum`:
///
/// - fused: c = fma(a_k, b_k, c) in ascending k, to nearest even. `group` means nothing.
/// - pairwise: the products are rounded to f32, halves of the group are added as a binary tree, then c; each to nearest
///   even.
/// - aligned: all terms become multiples of one power of two, are added exactly, and the sum is rounded once.
///     The exponent of a number x is max(floor(log2 |x|), its type's smallest): `least_exponent` for a and b, -126 for
///     c. The exponent of a product is the sum of its factors' exponents (product_exponent::of_factors), so that
///     significands of products lie below 4, and those of subnormal factors may be far below 1; or floor(log2 |a b|)
///     (of_product). A product that is 0, and a c that is 0, has none.
///     With parts = 1 and joins_c_later = 0: E is the largest exponent of the group's products and c, but at least
///     `least_alignment_exponent`, -133. Each is cut to a multiple of 2^(E - fraction_bits) in the direction
///     `alignment`.
///     (-133 is the exponent of bf16's smallest number. Of mma.sync of bf16 on an H200, all of 230,400 results below
///     2^-126 were so; with -132 or -134 instead 325 and 130 were not. Products of other types do not get there.)
///     With joins_c_later = 1 c waits: the products of each part (the i-th product of the group belongs to part i mod
///     parts) are cut to multiples of 2^(E_part - fraction_bits), as above, and added. With two parts, both sums are
///     then cut down (toward -infinity) to multiples of 2^(E - fraction_bits), E the larger E_part, and added. Then E
///     becomes the larger of E and c's exponent; the sum is cut down to a multiple of 2^(E - sum_bits), c to one of
///     2^(E - fraction_bits), or c is left out where c_reach > 0 and its exponent is below E - c_reach.
///     The exact sum is rounded in the direction `result` to a number of `result_bits` fraction bits and f32's
///     exponents (23: f32. 13: the e8m13 of some FP8 atoms).
///
/// With adds_c_last = 1 the first group starts from 0 in place of c, and what the last one leaves is added to c in f32,
/// to nearest even.
///
/// flushes_inputs: an a or b below 2^least_exponent counts as 0, and so does a c below 2^-126 that a group takes.
/// flushes_results: so does a result below 2^-126 of each f32 operation, of each group's where the group is aligned.
/// NaN and infinities go as IEEE arithmetic has them. A group's result beyond f32 is not stated. The sign of a sum that
/// is 0 is not stated.
#pragma once

#include <cstdint>

namespace assay {

inline constexpr int least_alignment_exponent = -133;

enum class atom_sum : std::int32_t { undeclared, aligned, fused, pairwise };
enum class product_exponent : std::int32_t { of_factors, of_product };
enum class cut : std::int32_t { toward_zero, down, nearest_even };

/// See the head of this file. With sum == undeclared, nothing else has a meaning; else every field must be in its
/// range.
struct matrix_atom {
  atom_sum sum = atom_sum::undeclared;
  std::int32_t products = 16;         ///< at most 64
  std::int32_t group = 16;            ///< divides products
  std::int32_t run = 16;              ///< divides group
  std::int32_t parts = 1;             ///< 1; or 2, aligned with joins_c_later
  std::int32_t least_exponent = -14;  ///< -126 to that of the operands' types; with flushes_inputs at most -14
  product_exponent exponent = product_exponent::of_factors;
  std::int32_t fraction_bits = 24;   ///< 10 to 31
  cut alignment = cut::toward_zero;  ///< or down
  std::int32_t joins_c_later = 0;    ///< 0 or 1
  std::int32_t sum_bits = 0;         ///< with joins_c_later: 10 to 31
  std::int32_t c_reach = 0;          ///< with joins_c_later: 0, or fraction_bits to 1024
  cut result = cut::toward_zero;
  std::int32_t result_bits = 23;     ///< 10 to 23
  std::int32_t flushes_inputs = 0;   ///< 0 or 1
  std::int32_t flushes_results = 0;  ///< 0 or 1
  std::int32_t adds_c_last = 0;      ///< 0 or 1

  friend bool operator==(const matrix_atom&, const matrix_atom&) = default;
};

}  // namespace assay
