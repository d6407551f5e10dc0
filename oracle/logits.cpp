#include "oracle/logits.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "oracle/any_order_errors.hpp"
#include "oracle/atoms.hpp"

namespace assay::oracle {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double ln2_above = 0x1.62e43p-1;
constexpr double unit = 0x1p-24;

/// Relative error of a product of f32 factors that is rounded up to `roundings` times, in any order. Partial products
/// below 2^-126 would lose more than that; the least one possible is that of the factors below 1.
double constant_error(std::initializer_list<double> factors, int roundings, bool* usable) {
  double least = 1, most = 1;
  for (const double f : factors) {
    if (f == 0) return 0;  // the product is 0 in any order
    least *= std::min(1.0, std::fabs(f));
    most *= std::max(1.0, std::fabs(f));
  }
  *usable = *usable && least >= 0x1p-126 && most <= f32_largest;
  return roundings * unit * (1 + 0x1p-10) + 0x1p-50;  // the second term: binary64's own product
}

/// Makes of a constant, known to 2^-50 of it and rounded once, the f32 number that it is, where there is only one.
/// Returns whether it did.
bool pin(double& constant) {
  const auto lo = static_cast<float>(constant * (1 - 0x1p-50)), hi = static_cast<float>(constant * (1 + 0x1p-50));
  if (lo != hi) return false;  // NaN included
  constant = static_cast<double>(lo);
  return true;
}

bool is_normal_f32(double x) {
  return std::fabs(x) >= 0x1p-126 && std::fabs(x) <= f32_largest;
}

}  // namespace

logit_scale scale_of(const problem& stated, const contract& declared) {
  logit_scale s;
  s.is_usable = true;
  const double scale = stated.scale, q_scale = stated.q_scale, k_scale = stated.k_scale;
  const int n = declared.constant_roundings;
  s.is_any_order = declared.order == tile_order::any;
  if (s.is_any_order) s.dot = dot_errors_of(declared, stated);
  const bool quantises = declared.p_type != dtype::f32, may_pin = n == 1 && quantises && !s.is_any_order;
  s.log2_e = log2_e;
  s.base_2_error = constant_error({log2_e}, n, &s.is_usable);
  s.is_direct = !(stated.soft_cap > 0) && stated.bias_type == dtype::none;
  if (s.is_direct) {
    s.factor = scale * q_scale * k_scale * log2_e;
    s.common_error = constant_error({scale, q_scale, k_scale, log2_e}, n, &s.is_usable);
    s.is_fused = declared.fuses_logits != 0 && !s.is_any_order;
    s.is_usable = s.is_usable && (!s.is_fused || s.factor > 0);
    if (declared.least_rounded_maximum > 0.0F) s.least_rounded = static_cast<double>(declared.least_rounded_maximum);
    if (may_pin && s.is_usable && pin(s.factor)) s.is_pinned = true, s.common_error = 0;
    s.snaps = s.is_fused && s.is_pinned;  // with an unknown theta, rounding w does not bound rounding w (1 + theta)
  } else {
    s.factor = scale * q_scale * k_scale;
    s.factor_error = constant_error({scale, q_scale, k_scale}, n, &s.is_usable);
    s.common_error = s.base_2_error;
    if (may_pin && s.is_usable && pin(s.factor)) s.is_pinned = true, s.factor_error = 0;
    if (may_pin && pin(s.log2_e)) s.common_error = 0;
    s.soft_cap = stated.soft_cap;
    s.soft_cap_error = n * unit;  // a division rounds once; times a rounded reciprocal, once more per rounding
    s.tanh_error = static_cast<double>(declared.tanh_relative_error);
    s.is_usable = s.is_usable && (s.soft_cap == 0 || (s.soft_cap >= 0x1p-120 && s.soft_cap <= 0x1p120));
  }
  s.is_usable = s.is_usable && std::isfinite(s.factor) && s.common_error < 0x1p-12 && s.factor_error < 0x1p-12 &&
                (s.is_direct || s.is_any_order || !declared.fuses_logits);
  return s;
}

logit_scale scale_of_tile(const logit_scale& launch, double k_descale) {
  logit_scale s = launch;
  s.factor *= k_descale;  // of a pinned constant: exact, 24 bits times 24 bits
  if (!(k_descale > 0) || !(is_normal_f32(s.factor) || launch.factor == 0)) s.is_usable = false;
  if (s.is_any_order) {
    s.dot.per_key_element /= std::min(1.0, k_descale);
    s.dot.per_query_element /= std::min(1.0, k_descale);
    s.dot.most_of_key /= std::max(1.0, k_descale);
    s.dot.most_of_query /= std::max(1.0, k_descale);
  }
  if (s.is_pinned)
    s.factor = static_cast<double>(static_cast<float>(s.factor));
  else
    s.factor_error += unit + 0x1p-50;
  return s;
}

namespace {

/// Beyond f32's range a logit is -inf where every value of it overflows downwards, and else unknown. A constant that
/// is unknown by theta moves it by up to theta |w|.
void settle(double theta, double& w, double& e) {
  const double spread = theta * std::fabs(w);
  if (std::fabs(w) + spread + e <= f32_largest) return;
  const bool is_void = w + spread + e <= -0x1p128;  // false for NaN
  e = is_void ? 0.0 : std::numeric_limits<double>::infinity();
  if (is_void) w = -std::numeric_limits<double>::infinity();
}

/// Whether a fused logit within e of w is not rounded, as far as p can tell: smaller ones meet a maximum that has them
/// rounded only where they lie 2^9 below it, rounded or not, and then p is 0, whatever p_shift is.
bool stays_unrounded(const logit_scale& s, double w, double e) {
  return s.is_fused && std::fabs(w) * (1 + s.common_error) + e < s.least_rounded * (1 - 0x1p-20) - 0x1p9;
}
/// Whether one is rounded certainly: the maximum is not below a logit that is as large itself.
bool is_rounded(const logit_scale& s, double w, double e) {
  return s.is_fused && w * (1 - s.common_error) - e >= s.least_rounded;
}

}  // namespace

void to_logits(const logit_scale& s, const double* bias, std::int64_t count, double* w, double* e) {
  const double factor = std::fabs(s.factor);
  if (s.is_direct) {
    for (std::int64_t j = 0; j < count; ++j) {
      w[j] *= s.factor;
      // e is a radius of the dot product still. 2^-51 covers binary64's roundings of w, and a product's rounding, too.
      const auto radius = [&](double roundoff) {
        return (factor * e[j] + (s.factor_error + roundoff) * std::fabs(w[j]) + f32_underflow) * logit_cover;
      };
      const double unrounded = radius(0x1p-51);
      const logit_gap rounded = round_to_f32(s, w[j], unrounded);
      if (stays_unrounded(s, w[j], unrounded))
        e[j] = unrounded;
      else if (s.snaps && is_rounded(s, w[j], unrounded) && std::isfinite(rounded.radius))
        w[j] = rounded.mid, e[j] = rounded.radius;
      else
        e[j] = radius(unit);
      settle(s.common_error, w[j], e[j]);
    }
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    double x = w[j] * s.factor;
    double r = factor * e[j] + (unit + s.factor_error) * std::fabs(x) + f32_underflow;
    // Of a product that overflows tanh makes +-1, as of the number that it stands for. Without a soft cap, one that
    // overflows downwards is -inf with every finite bias.
    if (!(std::fabs(x) + 2 * r <= f32_largest) && !(s.soft_cap > 0)) {
      const bool is_void = x + 2 * r <= -0x1p128 && (bias == nullptr || bias[j] <= f32_largest);
      w[j] = is_void ? -std::numeric_limits<double>::infinity() : w[j];
      e[j] = is_void ? 0.0 : std::numeric_limits<double>::infinity();
      continue;
    }
    if (s.soft_cap > 0) {
      const double u = x / s.soft_cap;
      const double u_radius =
          (r / s.soft_cap + (unit + s.soft_cap_error) * (std::fabs(u) + r / s.soft_cap) + f32_underflow) * logit_cover;
      // tanh is 1-Lipschitz, and stays within 1 whatever its argument is.
      const double value = std::tanh(u);
      double value_radius = u_radius + s.tanh_error * (std::fabs(value) + u_radius) + f32_underflow;
      if (std::isfinite(value_radius)) value_radius = std::min(value_radius, 2.0 + s.tanh_error);  // else: a NaN
      // 1 - tanh(32) < 2^-91.
      if (std::fabs(u) - u_radius > 32) value_radius = s.tanh_error + 0x1p-91 + f32_underflow;
      x = s.soft_cap * value;
      r = (s.soft_cap * value_radius + unit * (std::fabs(x) + s.soft_cap * value_radius) + f32_underflow) * logit_cover;
    }
    if (bias != nullptr) {
      x += bias[j];
      r = (r + unit * (std::fabs(x) + r)) * logit_cover;
    }
    w[j] = x * s.log2_e;
    // The sum above may cancel: 2^-50 of the terms, not of w, bounds binary64's share; both terms are in r or bias.
    const double shared = bias != nullptr ? std::fabs(bias[j]) * 0x1p-48 : 0.0;
    e[j] = (log2_e * (r + shared) + unit * (std::fabs(w[j]) + log2_e * r) + f32_underflow) * logit_cover;
    settle(s.common_error, w[j], e[j]);
  }
}

logit_gap round_to_f32(const logit_scale& s, double x, double error) {
  if (!(std::fabs(x) + 2 * error <= f32_largest)) return {x, std::numeric_limits<double>::infinity()};
  if (!s.snaps) return {x, (error + unit * (std::fabs(x) + error) + f32_underflow) * logit_cover};
  const auto lo = static_cast<double>(static_cast<float>(x - error)),
             hi = static_cast<double>(static_cast<float>(x + error));
  // Half the sum and difference of f32 numbers: exact but for the sum's last bits, which 2^-52 covers.
  const double mid = (lo + hi) / 2;
  return {mid, lo == hi ? 0.0 : ((hi - lo) / 2 + 0x1p-52 * std::fabs(mid)) * cover};
}

namespace {

/// Bound of what binary64 may have lost where `a` - `b` and `difference` are not quite the same: nothing where each is
/// exactly what the other two make of it.
double difference_error(double a, double b, double difference) {
  return a - b == difference && difference + b == a && a - difference == b ? 0.0
                                                                           : 0x1p-51 * (std::fabs(a) + std::fabs(b));
}

}  // namespace

logit_gap base_of(const logit_scale& s, double w, double error, double shift) {
  if (shift == 0) return {w, error};
  // In base + shift theta stays what it is in m: only the rounding, of |m - shift| or less than twice that, is added.
  const double spread = error + s.common_error * std::fabs(w);
  if (!s.snaps) return {w, (error + unit * (std::fabs(w - shift) + spread) + f32_underflow) * logit_cover};
  const double unrounded = w - shift;
  const logit_gap base = round_to_f32(s, unrounded, error + difference_error(w, shift, unrounded));
  const double sum = base.mid + shift;
  return {sum, base.radius + difference_error(sum, shift, base.mid)};
}

logit_gap gap(const logit_scale& s, double w, double e, double w_max, double e_max, double shift) {
  const double difference = w - w_max, mid = difference + shift;
  const double spread = std::fabs(difference) * s.common_error + e + e_max;
  // Arguments as far below as 2^20 give p = 0, and need not be f32 numbers to do so. 2^-51: binary64's two differences.
  if (s.snaps && std::fabs(mid) + spread < 0x1p20)
    return round_to_f32(s, mid, spread * logit_cover + 0x1p-51 * (std::fabs(difference) + std::fabs(shift)));
  return {mid, (spread + unit * (std::fabs(mid) + spread) + f32_underflow) * logit_cover};
}

probability exp2_of(const logit_gap& d, const contract& declared, double most) {
  constexpr double libm = 0x1p-50;  // 4 ulp, as interval.hpp states it
  const double error = static_cast<double>(declared.exp2_relative_error);
  probability p;
  if (d.radius < 0x1p-4) {
    // 2^r - 1 <= z (1 + z) for z = r ln 2 <= 1, and 1 - 2^-r is below that. Factors (1 + a)(1 + b) <= 1 + a + b + ab.
    const double mid = std::exp2(d.mid), z = d.radius * ln2_above;
    const double shift = z * (1 + z);
    const double relative = (shift + error + shift * error + 2 * libm) * (1 + 0x1p-40);
    p = {mid * (1 - relative), mid * (1 + relative)};
  } else {
    p = {std::exp2(d.mid - d.radius) * (1 - error - 2 * libm), std::exp2(d.mid + d.radius) * (1 + error + 2 * libm)};
  }
  if (p.lo < 0x1p-125) p = {std::max(0.0, p.lo - f32_underflow), p.hi + f32_underflow};
  if (p.lo < static_cast<double>(declared.exp2_flush)) p.lo = 0;
  p.hi = std::min(p.hi, most);
  p.lo = std::min(p.lo, most);
  return p;
}

probability peak_of(const logit_scale& s, double w, double error, const contract& declared) {
  const double shift = declared.p_shift;
  const bool is_fused = s.is_fused && !(std::fabs(w) * (1 - s.common_error) - error >= s.least_rounded);
  if (!is_fused && shift == 0) return {1, 1};  // y - m' is 0
  // |m| <= `size`. A fused maximum lies within one rounding of its own y, which is its y where it is large, and base
  // within one of m - shift.
  const double size = std::fabs(w) * (1 + s.common_error) + error;
  const double apart = ((is_fused ? unit * std::min(size, s.least_rounded) : 0.0) +
                        (shift != 0 ? unit * (size + shift) : 0.0) + 2 * f32_underflow);
  const double radius = (apart + unit * (shift + apart) + f32_underflow) * logit_cover;
  return exp2_of({shift, radius}, declared, std::numeric_limits<double>::infinity());
}

}  // namespace assay::oracle
