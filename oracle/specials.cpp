#include "oracle/specials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

bool is_infinite(column_state s) {
  return s == column_state::plus_infinity || s == column_state::minus_infinity;
}

}  // namespace

column_state join(column_state a, column_state b) {
  if (a == b || b == column_state::finite) return a;
  if (a == column_state::finite) return b;
  if (a == column_state::nan || b == column_state::nan) return column_state::nan;
  if (is_infinite(a) && is_infinite(b)) return column_state::nan;
  for (const auto& [sure, maybe] : {std::pair{column_state::plus_infinity, column_state::maybe_plus},
                                    {column_state::minus_infinity, column_state::maybe_minus}}) {
    const auto is_below = [&](column_state s) { return s == sure || s == maybe || s == column_state::maybe_nan; };
    if (is_below(a) && is_below(b)) return maybe;  // it admits all that the two admit together
  }
  return column_state::open;
}

column_state effect_of(double value, weight_kind weight) {
  // Times an exact zero: a kernel may form the product, or leave the key out.
  if (weight == weight_kind::zero) return column_state::maybe_nan;
  if (std::isnan(value)) return weight == weight_kind::positive ? column_state::nan : column_state::maybe_nan;
  if (weight == weight_kind::open) return value > 0 ? column_state::maybe_plus : column_state::maybe_minus;
  return value > 0 ? column_state::plus_infinity : column_state::minus_infinity;
}

column_state scaled(column_state a, bool may_be_zero) {
  if (!may_be_zero || !is_infinite(a)) return a;
  return a == column_state::plus_infinity ? column_state::maybe_plus : column_state::maybe_minus;
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

void column_states::add_signs(std::span<const char> is_negative) {
  for (std::size_t c = 0; c < is_negative.size(); ++c) is_negative_[c] |= is_negative[c];
}

element_rule rule_of(const interval& e, bool is_positive) {
  if (is_positive || e.lo > 0) return element_rule::positive;
  return e.hi < 0 ? element_rule::negative : element_rule::enclosed;
}

element_rule apply(column_state state, double factor, interval& e, element_rule rule) {
  switch (state) {
    case column_state::finite: return rule;
    case column_state::maybe_nan: return element_rule::or_nan;
    case column_state::nan: e = everything; return element_rule::nan;
    case column_state::open: e = everything; return element_rule::enclosed;
    case column_state::plus_infinity:
    case column_state::minus_infinity:
    case column_state::maybe_plus:
    case column_state::maybe_minus: break;
  }
  // Finite values that overflow may be the other infinity, and 0 * infinity is NaN.
  if (is_everything(e) || factor == 0 || std::isnan(factor)) {
    e = everything;
    return element_rule::enclosed;
  }
  const bool is_certain = is_infinite(state);
  const bool is_plus = (state == column_state::plus_infinity || state == column_state::maybe_plus) == (factor > 0);
  if (is_certain)
    e = point(is_plus ? infinity : -infinity);
  else
    e = is_plus ? interval{e.lo, infinity} : interval{-infinity, e.hi};
  return is_certain || is_everything(e) ? element_rule::enclosed : element_rule::or_nan;
}

}  // namespace assay::oracle
