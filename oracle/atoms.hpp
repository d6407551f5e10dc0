/// The inner loops of the contract's evaluation: matrix atoms on midpoints and radii, many lanes at once.
///
/// A value known as (mid, radius) stands for [mid - radius, mid + radius]. Products of two values of at most 24
/// significant bits are exact in binary64. What binary64 rounds away in sums is added to the radius:
///   a sum of n products and an accumulator, n + 1 terms none above M in magnitude, has n roundings of partial sums
///   that are at most (n + 1) M, so its error is at most n (n + 1) M 2^-53 <= (n + 1)^2 2^-53 M.
/// Radii are sums of few nonnegative terms, each rounded once or twice: the factor `cover` = 1 + 2^-40 exceeds their
/// error. A result that may exceed f32's largest number gets radius infinity; it stays so through all later operations.
/// A model that rounds to nearest (result_roundoff 2^-24) gives the f32 next to some number that its alignment error
/// allows. With `snaps` its results are taken as just those f32 numbers, often a single one. Without, exact arithmetic
/// counts as admissible too: so the enclosure of a contract that quantises nothing holds the exact value.
/// All clones (AVX-512, AVX2, baseline) give the same bits: no contraction, and no reduction across lanes.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/contract.hpp"

namespace assay::oracle {

/// Lanes are processed in blocks of this many: pad all arrays of lanes to a multiple.
inline constexpr std::int64_t lane_block = 16;

inline std::int64_t pad_to(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

inline constexpr double cover = 1 + 0x1p-40;
inline constexpr double f32_largest = 0x1.fffffep127;
inline constexpr double f32_underflow = 0x1p-149;  ///< absolute error of one f32 rounding below 2^-126, any direction

/// The smallest normal numbers of the types of a and b. A coarse model aligns a product of smaller elements as if they
/// were these: matrix units do not normalise subnormals.
struct least_operands {
  double a = 0;
  double b = 0;
};

/// QK: lane j gets dot(q, k_j) as atoms along the head dimension make it, from 0.
/// `keys` holds k transposed, keys[d * lanes + j], with `dim` padded by zeros to a multiple of model.products;
/// `key_bounds[j]` >= max_d |k_jd|. Writes mid[lanes], radius[lanes].
void dot_atoms(const double* query, const double* keys, const double* key_bounds, std::int64_t dim, std::int64_t lanes,
               const accumulation& model, bool snaps, double* mid, double* radius, const least_operands& least = {});

/// What the elements of q and k pass through before they are multiplied, and how often a product is rounded, in any
/// tree of sums. See dot_in_any_order().
struct product_error {
  double relative = 0;           ///< of each product, its way through all joins included
  double per_join = 0;           ///< absolute, of the whole sum
  double per_query_element = 0;  ///< absolute, of each element of q, scaled; a rounding that underflows
  double per_key_element = 0;
  /// Elements from here on may overflow the type that they are rounded to with their scales: nothing is known then.
  double most_of_query = std::numeric_limits<double>::infinity();
  double most_of_key = std::numeric_limits<double>::infinity();
};

/// QK in any order: mid is the exact dot product but for binary64's roundings, radius what sum |q k| makes of `error`.
/// Arguments as dot_atoms(), lanes a multiple of lane_block.
void dot_in_any_order(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes,
                      const product_error& error, double* mid, double* radius);

/// The same for int8: exact; a sum beyond 2^24 may be rounded once on its way to f32.
void dot_exact(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes, double* mid,
               double* radius);

/// One atom of PV: (mid, radius)[lanes] += sum over j < count of P_j * values[j * lanes + c].
/// P_j lies within p_radius[j] of p[j]; p[j] has at most 24 significant bits. `value_bounds[j]` >= max_c |v_jc|.
void accumulate_atom(const double* p, const double* p_radius, const double* values, const double* value_bounds,
                     std::int64_t count, std::int64_t lanes, const accumulation& model, bool snaps, double* mid,
                     double* radius, const least_operands& least = {});

/// (mid, radius)[lanes] *= alpha, known as (alpha, alpha_radius), with one f32 rounding.
void rescale(double alpha, double alpha_radius, std::int64_t lanes, double* mid, double* radius);

}  // namespace assay::oracle
