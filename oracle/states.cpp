#include "oracle/states.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;

/// The largest maximum of all states.
struct joined_maximum {
  double w = 0;
  double error = 0;
  const row_state* certain = nullptr;  ///< the state that certainly holds it
};

/// As for the keys of a tile (replay.cpp): the state with the largest w leads, and certainly holds the maximum if its
/// least value exceeds all others' largest.
joined_maximum maximum_of(std::span<const row_state> states) {
  const row_state* leader = nullptr;
  double top = -infinity;
  for (const row_state& s : states) {
    if (!s.has_maximum) continue;
    top = std::max(top, s.w + s.error);
    if (leader == nullptr || s.w > leader->w) leader = &s;
  }
  const bool is_alone = std::ranges::all_of(states, [&](const row_state& s) {
    return &s == leader || !s.has_maximum || s.w + s.error < leader->w - leader->error;
  });
  if (is_alone) return {leader->w, leader->error, leader};
  return {leader->w, std::max(leader->error, (top - leader->w) * logit_cover), nullptr};
}

/// (mid, radius) += f (o_mid, o_radius), f known as (factor, factor_radius), in exact arithmetic; `size` bounds the sum
/// of the terms' magnitudes.
ASSAY_CLONES
void add_scaled(double factor, double factor_radius, const double* o_mid, const double* o_radius, std::size_t count,
                double* mid, double* radius, double* size) {
  for (std::size_t c = 0; c < count; ++c) {
    const double term = factor * o_mid[c];
    const double r = std::fabs(o_mid[c]) * factor_radius + (factor + factor_radius) * o_radius[c];
    mid[c] += term;
    radius[c] += r + 0x1p-50 * std::fabs(term);
    size[c] += std::fabs(term) + r;
  }
}

}  // namespace

void join_states(std::span<row_state> states, const contract& declared, const logit_scale& scale) {
  row_state& to = states.front();
  // The roundings of a term of either sum; those of l are there with one state, too.
  const double relative = declared.state_roundings * unit * (1 + 0x1p-10);
  const auto widen_sum = [&] {
    if (to.sum.hi == 0) return;
    const double underflow = static_cast<double>(states.size()) * 2 * f32_underflow;
    to.sum = {std::max(0.0, to.sum.lo * (1 - relative) * (1 - 0x1p-50) - underflow),
              to.sum.hi * (1 + relative) * (1 + 0x1p-50) + underflow};
    to.least_sum = to.least_sum * (1 - relative) * (1 - 0x1p-50) - underflow;
    to.sum.lo = std::max(to.sum.lo, to.least_sum);
  };
  for (const row_state& s : states.subspan(1)) {
    to.is_nan |= s.is_nan;
    to.is_lost |= s.is_lost;
  }
  if (to.is_nan || to.is_lost) return;
  if (states.size() == 1) return widen_sum();

  const bool has_maximum = std::ranges::any_of(states, [](const row_state& s) { return s.has_maximum; });
  if (!has_maximum) {
    for (const row_state& s : states.subspan(1)) to.columns.join_with(s.columns);
    return;
  }
  const joined_maximum joined = maximum_of(states);
  // As where a tile meets a sink of -3e38, whose m may be -inf: nothing is said of logits that are not far above it.
  if (to.overflowing_sink < 0 && !to.has_maximum && !(joined.w - joined.error > -0x1p126)) {
    to.is_lost = true;
    return;
  }

  const std::size_t columns = to.mid.size();
  std::vector<double> mid(columns), radius(columns), size(columns);
  interval sum{0, 0};
  double least_sum = infinity;
  int with_values = 0;
  bool is_exact = true;
  column_states states_of_columns = to.columns;
  states_of_columns.reset();
  for (row_state& s : states) {
    probability factor{0, 0};
    if (s.has_maximum) {
      factor = &s == joined.certain ? probability{1, 1}
                                    : exp2_of(gap(scale, s.w, s.error, joined.w, joined.error), declared);
      sum = {sum.lo + factor.lo * s.sum.lo, sum.hi + factor.hi * s.sum.hi};
      least_sum = std::min(least_sum, s.sum.lo);  // of that which holds the maximum, whichever it is
    }
    column_states own = s.columns;
    own.scale(!(factor.lo > 0));
    states_of_columns.join_with(own);
    if (!s.has_value) continue;  // O is exactly 0
    ++with_values;
    is_exact &= factor.lo == 1 && factor.hi == 1;
    const double f = (factor.lo + factor.hi) / 2;
    add_scaled(f, std::max(factor.hi - f, f - factor.lo) * cover, s.mid.data(), s.radius.data(), columns, mid.data(),
               radius.data(), size.data());
  }
  const double underflow = static_cast<double>(states.size()) * 2 * f32_underflow;
  const bool rounds = with_values > 1 || !is_exact;
  for (std::size_t c = 0; c < columns; ++c) {
    double r = radius[c];
    // A column of exact zeros stays one.
    if (rounds && size[c] != 0) r = (r + relative * size[c] + underflow) * cover;
    radius[c] = std::fabs(mid[c]) + r <= f32_largest ? r : infinity;  // false for NaN
  }
  to.mid = std::move(mid);
  to.radius = std::move(radius);
  to.columns = std::move(states_of_columns);
  to.has_value = with_values > 0;
  to.has_maximum = true;
  to.w = joined.w;
  to.error = joined.error;
  to.sum = sum;
  to.least_sum = least_sum;
  widen_sum();
}

}  // namespace assay::oracle
