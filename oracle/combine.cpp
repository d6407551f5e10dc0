#include "oracle/combine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"
#include "oracle/interval.hpp"
#include "oracle/specials.hpp"

namespace assay::oracle {
namespace {

/// w_s = exp(lse_s - M); exactly 0 for an empty split, exactly 1 for the one that certainly holds the maximum.
std::vector<interval> weights_of(const std::vector<interval>& lse, const interval& largest, const contract& declared) {
  double top = -infinity, second = -infinity;  // of the upper ends
  for (const interval& x : lse) {
    second = std::max(second, std::min(top, x.hi));
    top = std::max(top, x.hi);
  }
  std::vector<interval> weights;
  weights.reserve(lse.size());
  for (const interval& x : lse) {
    if (x.hi == -infinity) {
      weights.push_back(point(0));
      continue;
    }
    if (x.lo >= (x.hi == top ? second : top)) {  // not below the upper end of any other
      weights.push_back(point(1));
      continue;
    }
    if (x.hi - largest.lo < -200) {  // far below f32's least number, also where the difference overflows
      weights.push_back({0, f32_underflow});
      continue;
    }
    interval w = exp(round_f32(x - largest));
    w = widen(w, static_cast<double>(declared.exp2_relative_error), w.lo < 0x1p-125 ? f32_underflow : 0.0);
    if (w.lo < static_cast<double>(declared.exp2_flush)) w.lo = 0;
    weights.push_back({std::clamp(w.lo, 0.0, 1.0), std::min(w.hi, 1.0)});
  }
  return weights;
}

/// W, the sum of the weights. One of them is 1, whichever split holds the maximum, and none is negative.
interval sum_of(const std::vector<interval>& weights) {
  interval total = point(0);
  for (const interval& w : weights)
    if (w.hi != 0) total = total.hi == 0 ? w : round_f32(total + w);
  // The split that holds the maximum weighs exp(0) = 1, and fewer than 2^20 rounded additions take less than a half.
  total.lo = std::max(total.lo, 0.5);
  return {std::max(total.lo, 1 - static_cast<double>(weights.size()) * 0x1p-23), std::max(total.hi, 1.0)};
}

/// (mid, radius) += w o, known as (w, w_radius) and `o`: a rounded product and a rounded sum. An exact zero adds
/// nothing.
ASSAY_CLONES
void add_weighted(double w, double w_radius, const interval* o, std::size_t count, double* mid, double* radius) {
  for (std::size_t c = 0; c < count; ++c) {
    // Infinite ends make NaN here, and `everything` in the end. 2^-50 covers binary64's roundings of mid and product.
    const double x = (o[c].lo + o[c].hi) * 0.5, above = o[c].hi - x, below = x - o[c].lo;
    const double x_radius = above > below ? above : below;
    const double term = w * x;
    double r = std::fabs(x) * w_radius + (w + w_radius) * x_radius + 0x1p-50 * std::fabs(term);
    r += 0x1p-24 * (std::fabs(term) + r) + f32_underflow;
    const double sum = mid[c] + term;
    r += radius[c] + 0x1p-52 * (std::fabs(mid[c]) + std::fabs(term));
    r = (r + 0x1p-24 * (std::fabs(sum) + r) + f32_underflow) * cover;
    radius[c] = ((o[c].lo == 0) & (o[c].hi == 0)) ? radius[c] : r;
    mid[c] = sum;
  }
}

/// The LSEs of all splits, and their maximum.
struct joined_lse {
  std::vector<interval> lse;
  interval largest{-infinity, -infinity};
  bool is_nan = false;
  bool is_known = true;
  /// The maximum may be infinity (a sink of 3e38). Its own difference is NaN then, as are the results.
  bool may_overflow = false;
};

joined_lse join_lse(std::span<const partial> splits) {
  joined_lse all;
  for (const partial& s : splits) {
    interval x = s.lse;
    all.is_nan |= s.is_nan;
    all.is_known &= !is_everything(x);
    if (x.hi == infinity) all.may_overflow = true, x.hi = std::max(x.lo, f32_largest);
    all.largest = {std::max(all.largest.lo, x.lo), std::max(all.largest.hi, x.hi)};
    all.lse.push_back(x);
  }
  return all;
}

/// What values that are not finite make of a column.
column_state state_of(std::span<const partial> splits, const std::vector<interval>& weights, std::size_t column) {
  column_state state = column_state::finite;
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const interval& o = splits[s].o[column];
    const auto rule =
        splits[s].rules.empty() ? element_rule::enclosed : static_cast<element_rule>(splits[s].rules[column]);
    const weight_kind weight = weights[s].lo > 0 ? weight_kind::positive : weight_kind::open;
    if (rule == element_rule::nan) state = join(state, effect_of(std::nan(""), weight));
    if (admits_nan(rule)) state = join(state, column_state::maybe_nan);
    if (admits_infinity(rule, false)) state = join(state, column_state::maybe_plus);
    if (admits_infinity(rule, true)) state = join(state, column_state::maybe_minus);
    if (o.lo == o.hi && std::isinf(o.lo)) state = join(state, effect_of(o.lo, weight));
  }
  return state;
}

/// No split's element is -0 or below 0: nor is their sum, which starts from +0.
bool is_positive(std::span<const partial> splits, std::size_t column) {
  return std::ranges::all_of(splits, [&](const partial& s) {
    return !s.rules.empty() && static_cast<element_rule>(s.rules[column]) == element_rule::positive;
  });
}

/// The sum of the weighted outputs, before it is divided.
struct weighted_sum {
  std::vector<double> mid, radius;
};

weighted_sum add_all(std::span<const partial> splits, const std::vector<interval>& weights, std::size_t columns) {
  weighted_sum sum{std::vector<double>(columns), std::vector<double>(columns)};
  std::vector<interval> finite(columns);
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s].hi == 0) continue;  // adds 0 * o_s = 0: exact, and o_s is finite where it is known
    const double w = (weights[s].lo + weights[s].hi) / 2;
    const double w_radius = std::max(weights[s].hi - w, w - weights[s].lo) * cover;
    for (std::size_t c = 0; c < columns; ++c) {
      const interval& e = splits[s].o[c];
      const bool is_nan =
          !splits[s].rules.empty() && static_cast<element_rule>(splits[s].rules[c]) == element_rule::nan;
      const bool is_special = is_nan || (e.lo == e.hi && std::isinf(e.lo));
      finite[c] = is_special ? point(0) : e;  // state_of() has them; if their weight is 0, they may be left out
    }
    add_weighted(w, w_radius, finite.data(), columns, sum.mid.data(), sum.radius.data());
  }
  return sum;
}

}  // namespace

combined_lse combine_splits(std::span<const partial> splits, const contract& declared, std::span<interval> out,
                            std::span<std::uint8_t> rules) {
  const auto set_all = [&](const interval& e, element_rule rule) {
    std::ranges::fill(out, e);
    std::ranges::fill(rules, static_cast<std::uint8_t>(rule));
  };
  const joined_lse all = join_lse(splits);
  if (all.is_nan) return set_all(everything, element_rule::nan), combined_lse{everything, element_rule::nan};
  if (!all.is_known) return set_all(everything, element_rule::enclosed), combined_lse{everything};
  if (all.largest.hi == -infinity) return set_all(point(0), element_rule::positive), combined_lse{all.largest};

  std::vector<interval> weights;
  interval total = point(1);
  if (all.largest.lo == -infinity) {  // one split has a sink and no key: its LSE is the sink's, or -inf; every o is 0
    weights.assign(splits.size(), interval{0, 1});
  } else {
    weights = weights_of(all.lse, all.largest, declared);
    total = sum_of(weights);
  }
  const weighted_sum sum = add_all(splits, weights, out.size());
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double mid = sum.mid[c], r = sum.radius[c] * cover;
    const bool is_bounded = std::fabs(mid) + r <= f32_largest;  // false for NaN
    out[c] = mid == 0 && r == 0 ? point(0)
             : is_bounded       ? round_f32(interval{mid - r, mid + r} / total, declared.normalise_roundings)
                                : everything;
    const element_rule rule = apply(state_of(splits, weights, c), 1, out[c], rule_of(out[c], is_positive(splits, c)));
    const bool adds_nan = all.may_overflow && has_interval(rule) && !admits_nan(rule);
    rules[c] = static_cast<std::uint8_t>(adds_nan ? element_rule::or_nan : rule);
  }
  if (all.largest.lo == -infinity) return {{-infinity, all.largest.hi * (1 - 0x1p-20)}};
  const interval logarithm = widen(log(total), static_cast<double>(declared.log_relative_error),
                                   static_cast<double>(declared.log_absolute_error));
  const interval lse = round_f32(all.largest + logarithm);
  if (!all.may_overflow) return {lse};
  return {{std::min(all.largest.lo * (1 - 0x1p-20), f32_largest), infinity}, element_rule::or_nan};
}

}  // namespace assay::oracle
