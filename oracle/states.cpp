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
  const row_state* leader = &states.front();
  double top = -infinity;
  for (const row_state& s : states) {
    if (!s.has_maximum) continue;
    top = std::max(top, s.w + s.error);
    if (!leader->has_maximum || s.w > leader->w) leader = &s;
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

/// l and O of all states, before the roundings of the join.
struct joined_sums {
  explicit joined_sums(const row_state& like)
      : mid(like.mid.size()), radius(like.mid.size()), size(like.mid.size()), columns(like.columns) {
    columns.reset();
  }
  std::vector<double> mid, radius, size;
  column_states columns;
  interval sum{0, 0};
  double least_sum = infinity;
  int with_maximum = 0, with_value = 0;
  bool is_exact = true;  ///< all weights are 1

  void add(const row_state& s, probability factor) {
    column_states own = s.columns;
    own.scale(!(factor.lo > 0));
    columns.join_with(own);
    if (s.has_maximum) {
      ++with_maximum;
      is_exact &= factor.lo == 1 && factor.hi == 1;
      sum = {sum.lo + factor.lo * s.sum.lo, sum.hi + factor.hi * s.sum.hi};
      least_sum = std::min(least_sum, s.sum.lo);  // of that which holds the maximum, whichever it is
    }
    if (!s.has_value) return;  // O is exactly 0
    ++with_value;
    const double f = (factor.lo + factor.hi) / 2;
    add_scaled(f, std::max(factor.hi - f, f - factor.lo) * cover, s.mid.data(), s.radius.data(), mid.size(), mid.data(),
               radius.data(), size.data());
  }
  /// One state that weighs 1, beside states of zeros, is joined without a rounding.
  bool rounds_sum() const { return with_maximum > 1 || !is_exact; }
  bool rounds_outputs() const { return with_value > 1 || !is_exact; }
};

/// `roundings` of each term of l. An l of exactly 1 is one term, the sink's or that of the maximum, which no sum
/// rounds.
void widen_sum(row_state& to, int roundings, double underflow) {
  if (roundings == 0 || to.sum.hi == 0 || (to.sum.lo == 1 && to.sum.hi == 1)) return;
  const double relative = roundings * unit * (1 + 0x1p-10);
  // No sum of probabilities is below 0, not even where nothing is known of them: of logits so large that a shift is
  // lost.
  to.least_sum = std::max(0.0, to.least_sum * (1 - relative) * (1 - 0x1p-50) - underflow);
  to.sum = {std::max(to.least_sum, to.sum.lo * (1 - relative) * (1 - 0x1p-50) - underflow),
            to.sum.hi * (1 + relative) * (1 + 0x1p-50) + underflow};
}

}  // namespace

std::int32_t num_states(const contract& declared) {
  return declared.order == tile_order::any || declared.states == 0 ? 1 : declared.states;
}

void join_states(std::span<row_state> states, const contract& declared, const logit_scale& scale) {
  row_state& to = states.front();
  if (declared.order == tile_order::any) return;
  for (const row_state& s : states.subspan(1)) {
    to.is_nan |= s.is_nan;
    to.is_lost |= s.is_lost;
  }
  if (to.is_nan || to.is_lost) return;
  if (states.size() == 1) return widen_sum(to, declared.sum_join_roundings, 0);

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

  joined_sums sums(to);
  for (const row_state& s : states) {
    if (!s.has_maximum)
      sums.add(s, {0, 0});
    else if (&s == joined.certain)
      sums.add(s, {1, 1});
    else
      sums.add(s, exp2_of(gap(scale, s.w, s.error, joined.w, joined.error), declared));
  }
  const double relative = declared.state_roundings * unit * (1 + 0x1p-10);
  const double underflow = static_cast<double>(states.size()) * 2 * f32_underflow;
  for (std::size_t c = 0; c < sums.mid.size(); ++c) {
    double r = sums.radius[c];
    // A column of exact zeros stays one.
    if (sums.rounds_outputs() && sums.size[c] != 0) r = (r + relative * sums.size[c] + underflow) * cover;
    to.radius[c] = std::fabs(sums.mid[c]) + r <= f32_largest ? r : infinity;  // false for NaN
  }
  to.mid = std::move(sums.mid);
  to.columns = std::move(sums.columns);
  to.has_value = sums.with_value > 0;
  to.has_maximum = true;
  to.w = joined.w;
  to.error = joined.error;
  to.sum = sums.sum;
  to.least_sum = sums.least_sum;
  if (sums.rounds_sum())
    widen_sum(to, declared.sum_join_roundings + declared.state_roundings, underflow);
  else
    widen_sum(to, declared.sum_join_roundings, 0);
}

}  // namespace assay::oracle
