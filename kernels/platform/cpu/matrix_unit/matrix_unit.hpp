/// A matrix unit that computes as a declared atom says (kernels/matrix_atom.hpp), in integers.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/matrix_atoms.hpp"

namespace assay::cpu {

/// A number as significand * 2^(exponent - 10), with the exponent of matrix_atom.hpp: |significand| < 2^11. `value`
/// says what is not finite.
struct operand {
  std::int32_t significand = 0;
  std::int32_t exponent = 0;
  double value = 0;
};

/// Of a number with at most 11 significant bits.
operand operand_of(double value, const matrix_atom& atom);

/// One element of D. a and b have atom.products elements.
float multiply_add(const matrix_atom& atom, const operand* a, const operand* b, float c);

/// The atoms that the environment variable ASSAY_ATOMS names (hopper, cdna3, ...), with which all matrix atoms of the
/// process compute; null where it is not set. An unknown name ends the process with status 2.
const named_atoms* chosen_atoms();

}  // namespace assay::cpu
