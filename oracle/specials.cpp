#include "oracle/specials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

using enum column_state;

constexpr column_state of_bits(unsigned int bits) {
  return static_cast<column_state>(bits);
}
constexpr unsigned int bits_of(column_state s) {
  return static_cast<unsigned int>(s);
}
constexpr bool has(column_state s, column_state one) {
  return (bits_of(s) & bits_of(one)) != 0;
}
constexpr column_state with(column_state s, column_state more) {
  return of_bits(bits_of(s) | bits_of(more));
}

/// The sum of two that are certain.
column_state sum(column_state a, column_state b) {
  if (a == b || b == finite) return a;
  return a == finite ? b : nan;
}

}  // namespace

column_state join(column_state a, column_state b) {
  constexpr column_state each[] = {finite, plus_infinity, minus_infinity, nan};
  unsigned int sums = 0;
  for (const column_state x : each)
    for (const column_state y : each)
      if (has(a, x) && has(b, y)) sums |= bits_of(sum(x, y));
  return of_bits(sums);
}

column_state effect_of(double value, weight_kind weight) {
  // Times an exact zero: a kernel may form the product, or leave the key out.
  if (weight == weight_kind::zero) return maybe_nan;
  const column_state product = std::isnan(value) ? nan : value > 0 ? plus_infinity : minus_infinity;
  return weight == weight_kind::open ? with(product, maybe_nan) : product;
}

column_state scaled(column_state a, bool may_be_zero) {
  const bool has_infinity = has(a, plus_infinity) || has(a, minus_infinity);
  return may_be_zero && has_infinity ? with(a, maybe_nan) : a;
}

void column_states::reset() {
  states_.clear();
  std::ranges::fill(is_negative_, static_cast<char>(0));
}

void column_states::add(std::int64_t column, column_state effect) {
  if (states_.empty()) states_.resize(is_negative_.size(), column_state::finite);
  column_state& held = states_[static_cast<std::size_t>(column)];
  held = join(held, effect);
}

void column_states::scale(bool may_be_zero) {
  for (column_state& s : states_) s = scaled(s, may_be_zero);
}

void column_states::join_with(const column_states& other) {
  for (std::size_t c = 0; c < is_negative_.size(); ++c)
    is_negative_[c] = static_cast<char>(is_negative_[c] | other.is_negative_[c]);
  for (std::size_t c = 0; c < other.states_.size(); ++c) add(static_cast<std::int64_t>(c), other.states_[c]);
}

void column_states::add_signs(std::span<const char> is_negative) {
  for (std::size_t c = 0; c < is_negative.size(); ++c) is_negative_[c] |= is_negative[c];
}

element_rule rule_of(const interval& e, bool is_positive) {
  if (is_positive || e.lo > 0) return element_rule::positive;
  return e.hi < 0 ? element_rule::negative : element_rule::enclosed;
}

element_rule apply(column_state state, double factor, interval& e, element_rule rule) {
  if (state == finite) return rule;
  if (state == maybe_nan) return element_rule::or_nan;
  if (state == nan) return e = everything, element_rule::nan;
  // Finite values that overflow may be the other infinity, and 0 * infinity is NaN.
  if (is_everything(e) || factor == 0 || std::isnan(factor)) return e = everything, element_rule::enclosed;
  const bool is_plus = has(state, factor > 0 ? plus_infinity : minus_infinity);
  const bool is_minus = has(state, factor > 0 ? minus_infinity : plus_infinity);
  if (has(state, finite)) {
    if (is_plus && is_minus) return element_rule::or_special;
    return is_plus ? element_rule::or_plus : element_rule::or_minus;
  }
  e = is_plus && is_minus ? everything : point(is_plus ? infinity : -infinity);
  return has(state, nan) ? element_rule::or_nan : element_rule::enclosed;
}

}  // namespace assay::oracle
