/// Measures a library's matrix unit with crafted inputs: does the declared atom hold, bit by bit, and if not, which of
/// the family of kernels/matrix_atom.hpp does?
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/library.h"

namespace assay::probe {

/// Below so many results of an atom, or floats of a function, nothing holds: a probe that compared none would hold.
constexpr std::int64_t least_compared = 1000;

/// An atom of a unit's table, by its number.
assay_unit_atom atom_of(const assay_matrix_unit& unit, std::int32_t number);

/// What the library got wrong in the table, one line with atom and field: "atom 1 'f16': depth is 0, not 1 to 64";
/// empty where nothing is. What follows takes only tables without a fault.
std::string unit_fault(const assay_matrix_unit& unit);

/// Tiles of A, B and C for one atom, and what the unit made of them. A number is stored as its type's bits.
struct tiles {
  dtype type = dtype::f16;
  std::int64_t depth = 16;
  std::int64_t count = 0;
  std::vector<std::uint8_t> a, b;  ///< [count][16][depth] elements
  std::vector<float> c, d;         ///< [count][16][16]
};

/// Crafted inputs, from a seed, all finite: exponents spread over none to many binades, subnormals, zeros beside tiny
/// products, cancellation, terms one bit lower than the next, equal signs and mixed ones.
tiles craft(dtype type, std::int64_t depth, std::int64_t count, std::uint64_t seed);

/// Elements of D that differ from what the atom gives, and how many were compared. Stops at `most` misses.
struct comparison {
  std::int64_t misses = 0;
  std::int64_t compared = 0;
  std::int64_t unbounded = 0;  ///< not compared: the atom's result is beyond f32, where any number would do
  bool is_enough() const { return compared >= std::max(least_compared, unbounded); }
};
comparison compare(const tiles& t, const matrix_atom& atom, std::int64_t most);

/// What the family has that fits all of D: the first, and how many there are. With none, the one that held for longest.
struct search_result {
  matrix_atom best;
  std::int64_t fitting = 0;
  std::int64_t tried = 0;
  comparison of_best;
};
search_result search(const tiles& t);

/// As one would write it in a contract.
std::string to_text(const matrix_atom& atom);

struct atom_report {
  std::string name;
  bool is_declared = false;
  comparison declared;
  std::optional<search_result> found;  ///< searched where the declared one misses, or none is declared
  std::string failure;                 ///< the unit did not run
  /// Whether enough was compared: with what is declared, or else with the atom that fits best.
  bool is_enough() const { return is_declared ? declared.is_enough() : found && found->of_best.is_enough(); }
  /// Whether what is declared holds, or nothing is.
  bool holds() const { return failure.empty() && is_enough() && (!is_declared || declared.misses == 0); }
};
/// Runs atom `number` on `count` tiles of 16 by 16. int8 is compared with the exact sum.
atom_report probe_atom(const assay_matrix_unit& unit, std::int32_t number, std::int64_t count, std::uint64_t seed);

/// Worst error of exp2, log or tanh over every `stride`-th float.
struct function_report {
  std::string name;
  double worst = 0;     ///< of log: beyond the absolute part
  double declared = 0;  ///< the same bound
  float at = 0;
  std::int64_t compared = 0;
  std::string failure;
  bool is_enough() const { return compared >= least_compared; }
  bool holds() const { return failure.empty() && is_enough() && worst <= declared; }
};
function_report probe_function(const assay_matrix_unit& unit, assay_unit_function function, std::uint32_t stride);

}  // namespace assay::probe
