/// Matrix atoms that the contract declares exactly (kernels/matrix_atom.hpp), on many lanes at once.
#pragma once

#include <cstdint>

#include "kernels/matrix_atom.hpp"

namespace assay::oracle {

/// c[lane] = what the atoms of 0 <= k < extent make of c[lane] and a_k * b_k, the first of them at k = 0. Elements
/// outside of [first, end) count as zeros, and are not read. a_k lies in [a_least[k], a_most[k]], ends included; b_k of
/// a lane is b[k * lanes + lane], exactly. Elements have at most 24 significant bits, their products at most 48. c is
/// known as (mid, radius), as in atoms.hpp, and is an f32 number; so are the results. Where every a_k and c is one
/// number, so is the result, and the radius is 0. Otherwise it encloses the results of all numbers between the ends.
/// `lanes` is a multiple of lane_block.
void multiply_exactly(const double* a_least, const double* a_most, const double* b, std::int64_t first,
                      std::int64_t end, std::int64_t extent, std::int64_t lanes, const matrix_atom& atom, double* mid,
                      double* radius);

/// The same from 0: the dot product of `query` and each lane's key, keys[d * lanes + lane], of `dim` elements.
void dot_exact_atoms(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes,
                     const matrix_atom& atom, double* mid, double* radius);

inline bool is_declared(const matrix_atom& atom) {
  return atom.sum != atom_sum::undeclared;
}

}  // namespace assay::oracle
