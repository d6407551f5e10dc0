/// NaN, infinities and signs of zeros: what of a column of O is known beside its interval (semantics.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// A value of V that is neither finite nor dead.
struct special_value {
  std::int64_t key;  ///< position within the tile
  std::int64_t column;
  double value;
};

/// What special values make of a column: a set of `finite` (what the finite values make of it), `plus_infinity`,
/// `minus_infinity` and `nan`, as bits. The infinities hold unless the finite values overflow.
enum class column_state : std::uint8_t {
  finite = 1,  ///< alone: no special value reaches it
  plus_infinity = 2,
  minus_infinity = 4,
  nan = 8,                                     ///< alone: every order of operations makes NaN of it
  maybe_nan = finite | nan,                    ///< 0 * NaN may be formed
  maybe_plus = finite | plus_infinity | nan,   ///< an infinity whose weight may be 0
  maybe_minus = finite | minus_infinity | nan  ///< as well
};

/// Of two things that reach a column: every sum of one of `a` and one of `b`. Infinities of both signs make NaN.
column_state join(column_state a, column_state b);

/// What a value does to its column under a weight: certainly above 0, certainly 0 (a hidden or void key), or either.
enum class weight_kind : std::uint8_t { positive, zero, open };
column_state effect_of(double value, weight_kind weight);

/// Times a factor of at least 0, which may be 0 (infinity * 0 is NaN, or the key is left out).
column_state scaled(column_state a, bool may_be_zero);

/// The columns of a row.
class column_states {
 public:
  explicit column_states(std::int64_t columns) : is_negative_(static_cast<std::size_t>(columns)) {}
  void reset();
  void add(std::int64_t column, column_state effect);
  void scale(bool may_be_zero);
  /// Adds the columns of another sum.
  void join_with(const column_states& other);
  /// Takes in which columns of a tile hold a value with a sign bit.
  void add_signs(std::span<const char> is_negative);

  bool all_finite() const { return states_.empty(); }
  column_state state(std::size_t column) const { return states_.empty() ? column_state::finite : states_[column]; }
  /// No value in the column had a sign bit. All products with P and all sums from +0 are +0 or above 0 then.
  bool is_positive(std::size_t column) const { return is_negative_[column] == 0; }

 private:
  std::vector<column_state> states_;  ///< empty: all finite
  std::vector<char> is_negative_;
};

/// The rule of an element that has an interval: a zero has the sign of the number that was rounded to it. With
/// `is_positive` it is no -0 and not below 0 before rounding.
element_rule rule_of(const interval& e, bool is_positive);

/// Makes of an element what a column's state says: `e` is what finite values make of it, `factor` the sign of the
/// scalars that infinities are multiplied with. Returns its rule.
element_rule apply(column_state state, double factor, interval& e, element_rule rule);

}  // namespace assay::oracle
