#include "oracle/combine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

/// w_s = exp(lse_s - M); exactly 0 for an empty split, exactly 1 for the one that certainly holds the maximum.
std::vector<interval> weights_of(std::span<const interval> lse, const interval& largest, const contract& declared) {
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

}  // namespace

interval combine_splits(std::span<const interval> lse, const interval* outputs, std::int64_t split_stride,
                        const contract& declared, std::span<interval> out) {
  interval largest{-infinity, -infinity};
  bool is_known = true;
  for (const interval& x : lse) {
    is_known = is_known && !is_everything(x);
    largest = {std::max(largest.lo, x.lo), std::max(largest.hi, x.hi)};
  }
  if (!is_known) {
    std::ranges::fill(out, everything);
    return everything;
  }
  if (largest.hi == -infinity) {
    std::ranges::fill(out, point(0));
    return point(-infinity);
  }

  const std::vector<interval> weights = weights_of(lse, largest, declared);
  const interval total = sum_of(weights);
  std::vector<double> mid(out.size()), radius(out.size());
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s].hi == 0) continue;  // adds 0 * o_s = 0: exact, and o_s is finite where it is known
    const double w = (weights[s].lo + weights[s].hi) / 2;
    const double w_radius = std::max(weights[s].hi - w, w - weights[s].lo) * cover;
    add_weighted(w, w_radius, outputs + static_cast<std::int64_t>(s) * split_stride, out.size(), mid.data(),
                 radius.data());
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (mid[c] == 0 && radius[c] == 0) {
      out[c] = point(0);
      continue;
    }
    const double r = radius[c] * cover;
    const bool is_bounded = std::fabs(mid[c]) + r <= f32_largest;  // false for NaN
    out[c] =
        is_bounded ? round_f32(interval{mid[c] - r, mid[c] + r} / total, declared.normalise_roundings) : everything;
  }
  const interval logarithm = widen(log(total), static_cast<double>(declared.log_relative_error),
                                   static_cast<double>(declared.log_absolute_error));
  return round_f32(largest + logarithm);
}

}  // namespace assay::oracle
