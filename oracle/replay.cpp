#include "oracle/replay.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"
#include "oracle/decode.hpp"
#include "oracle/exact_atoms.hpp"
#include "oracle/interval.hpp"
#include "oracle/paging.hpp"
#include "oracle/tile_logits.hpp"

namespace assay::oracle {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double unit = 0x1p-24;

/// The new running maximum and by how much it moved.
struct maximum_step {
  bool moved = false;         ///< false: certainly not moved
  std::int64_t certain = -1;  ///< the key that certainly holds the maximum, or -1
  probability alpha{1, 1};
};

/// m' = max(m, max_j y_j). The key with the largest w leads; it certainly is the maximum when its least value exceeds
/// all others' largest. Otherwise the maximum lies between the leader's least and the largest value of all.
maximum_step move_maximum(const contract& declared, const logit_scale& scale, const tile_scratch& s, std::int64_t begin,
                          std::int64_t end, row_state& row) {
  const double *const w_of = s.w.data(), *const e_of = s.e.data();
  const char* const is_void = s.is_void.data();
  std::int64_t leader = -1;
  double top = -infinity;
  for (std::int64_t j = begin; j < end; ++j) {
    if (is_void[j] != 0) continue;
    top = std::max(top, w_of[j] + e_of[j]);
    if (leader < 0 || w_of[j] > w_of[leader]) leader = j;
  }
  maximum_step step;
  if (leader < 0) return step;
  // Beside a sink of -3e38, whose m may be -inf: nothing is said of logits that are not far above it.
  row.is_lost = row.overflowing_sink < 0 && !row.has_maximum && !(w_of[leader] - e_of[leader] > -0x1p126);
  if (row.has_maximum && row.w - row.error >= top) return step;  // the running maximum certainly stands
  const double least = w_of[leader] - e_of[leader];
  double w = w_of[leader], error = e_of[leader];
  if (scale.is_fused) {
    // Not y but f32(c2 * max_j a_j) goes into the maximum: one rounding of the largest y, which lies in [least, top].
    const logit_gap rounded = round_to_f32(scale, w, std::max(error, (top - w) * logit_cover));
    w = rounded.mid;
    error = rounded.radius;
    top = w + error;
    if (row.has_maximum && row.w - row.error >= top) return step;
  }
  bool is_alone = !row.has_maximum || row.w + row.error < w - error;
  for (std::int64_t j = begin; j < end && is_alone; ++j)
    is_alone = j == leader || is_void[j] != 0 || w_of[j] + e_of[j] < least;
  step.moved = true;
  if (is_alone) step.certain = leader;
  if (row.has_maximum && row.w > w) w = row.w, error = row.error;
  if (row.has_maximum) top = std::max(top, row.w + row.error);
  error = std::max(error, (top - w) * logit_cover);
  if (row.has_maximum) step.alpha = exp2_of(gap(scale, row.w, row.error, w, error), declared);
  // Where it may not have moved, alpha = 1 is possible; gap's radius exceeds its distance from 0 then, so hi is 1.
  row.w = w;
  row.error = error;
  row.has_maximum = true;
  return step;
}

/// P's codes of the tile, and the sum of p before they are made.
interval round_probabilities(const contract& declared, const logit_scale& scale, const row_state& row,
                             const probability& peak, std::int64_t certain, std::int64_t begin, std::int64_t end,
                             tile_scratch& s, code_counts* counts) {
  double lo = 0, hi = 0;
  const double shift = declared.p_shift;
  const logit_gap base = base_of(scale, row.w, row.error, shift);
  std::int64_t ambiguous = 0, zero = 0;
  const bool is_rounded = declared.p_type != dtype::f32;
  for (std::int64_t j = begin; j < end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    probability p = peak;
    if (s.is_void[at] != 0) {
      p = {0, 0};
    } else if (j != certain || peak.lo != peak.hi) {
      p = exp2_of(gap(scale, s.w[at], s.e[at], base.mid, base.radius, shift), declared, peak.hi);
      if (j == certain) p.lo = std::max(p.lo, peak.lo);
    }
    lo += p.lo;
    hi += p.hi;
    if (is_rounded) {
      p = {round_to_nearest(declared.p_type, p.lo), round_to_nearest(declared.p_type, p.hi)};
      if (p.lo < static_cast<double>(declared.p_flush)) p.lo = 0;
      ambiguous += p.lo != p.hi ? 1 : 0;
      zero += p.hi == 0 ? 1 : 0;
    }
    s.p_least[at] = p.lo;
    s.p_most[at] = p.hi;
    if (p.lo == p.hi) {
      s.p[at] = p.lo;
      s.p_radius[at] = 0;
    } else {
      // An f32 midpoint keeps products exact; the radius covers the way to both ends.
      s.p[at] = static_cast<float>((p.lo + p.hi) / 2);
      s.p_radius[at] = std::max(p.hi - s.p[at], s.p[at] - p.lo) * cover;
    }
  }
  if (counts != nullptr && is_rounded)
    *counts = {counts->codes + (end - begin), counts->ambiguous + ambiguous, counts->zero + zero};
  // n additions of nonnegative numbers, each within 2^-53 relative.
  const double slack = static_cast<double>(end - begin) * 0x1p-52;
  return {lo * (1 - slack), hi * (1 + slack)};
}

/// What the columns of a row have in common at the end.
struct normalisation {
  double l, l_radius, l_least, v_scale, v_descale;
  int roundings;
  /// What a factor may make of another one at the most.
  double most() const { return std::fmax(1.0, std::fabs(v_scale)) * std::fmax(1.0, v_descale); }
};

/// O / l * v_scale * v_descale of a column, f32 operations in any order, were there no largest f32.
struct quotient {
  double value, reach;
};
[[gnu::always_inline]] inline quotient quotient_of(const normalisation& n, double most, double mid, double radius) {
  // v_scale * v_descale is exact: 24 bits times 24 bits.
  const double factor = n.v_scale * n.v_descale, scale = std::fabs(factor);
  const double relative = n.roundings * unit * (1 + 0x1p-10);
  // |A/L - a/l| <= (R + |a/l| r) / l_least. Intermediates that underflow: any product of some of O, 1 / l (which is
  // below 2) and the scales, to be multiplied by the others.
  const double size = std::fabs(mid), ratio = mid / n.l, value = ratio * factor;
  const double spread = (radius + std::fabs(ratio) * n.l_radius) / n.l_least;
  const double known = spread * scale + 0x1p-50 * std::fabs(value);
  const double underflow = n.roundings * f32_underflow * 2 * (1 + size + radius) * most;
  const double r = (known + relative * (std::fabs(value) + known) + underflow) * cover;
  // A sink and no key: zero is exact in any order of operations.
  return {value, ((size == 0) & (radius == 0)) ? 0.0 : r};
}

ASSAY_CLONES
void normalise(const normalisation& n, const double* mid, const double* radius, std::size_t count, interval* out) {
  const double most = n.most();
  for (std::size_t c = 0; c < count; ++c) {
    const double size = std::fabs(mid[c]);
    const auto [value, reach] = quotient_of(n, most, mid[c], radius[c]);
    const bool is_bounded = (std::fabs(value) + reach <= f32_largest) & ((size > 1 ? size : 1.0) * most <= f32_largest);
    out[c].lo = is_bounded ? value - reach : -infinity;
    out[c].hi = is_bounded ? value + reach : infinity;
  }
}

/// Where the result or an intermediate may overflow: from the least magnitude on to infinity, of the result's sign. No
/// product of some of the factors is below 2^-126 (l is below 2^31), so infinity meets no 0 and makes no NaN, be
/// subnormals flushed or not.
interval overflowed(const normalisation& n, double mid, double radius) {
  const auto [value, reach] = quotient_of(n, n.most(), mid, radius);
  const double least = (std::fabs(value) - reach) * (1 - 0x1p-50);
  const double least_factor = std::fmin(1.0, std::fabs(n.v_scale)) * std::fmin(1.0, n.v_descale);
  const bool is_decided =
      least > 0 && std::fabs(value) < infinity && least_factor >= 0x1p-95 && n.l + n.l_radius < 0x1p31;
  if (!is_decided) return everything;
  // From 2^128 on every rounding gives infinity.
  const interval size{least >= 0x1p128 ? infinity : std::min(least, f32_largest), infinity};
  return value > 0 ? size : interval{-size.hi, -size.lo};
}

/// O = O * (alpha * ratio) with one rounding: to the new maximum, and from units of the v descale before to the tile's.
/// The ratio of equal descales is exactly 1, and a factor of exactly 1 rounds nothing.
void rescale_output(const probability& alpha, const decoded_tile& tile, const contract& declared, row_state& row) {
  const double before = std::exchange(row.value_descale, tile.value_descale);
  if (!row.has_value) return;  // 0 times anything that the contract allows
  interval factor{alpha.lo, alpha.hi};
  const bool changes_unit = before != 0 && before != tile.value_descale;  // true for NaN
  if (changes_unit) {
    const interval ratio = point(before) / point(tile.value_descale);
    const bool is_known =
        is_descale(before) && is_descale(tile.value_descale) && ratio.lo >= 0x1p-126 && ratio.hi <= f32_largest;
    factor = is_known ? round_f32(factor * ratio, declared.merge_roundings) : everything;
  }
  if (factor.lo == 1 && factor.hi == 1) return;
  if (is_everything(factor)) {
    std::ranges::fill(row.radius, infinity);
    return;
  }
  const double mid = (factor.lo + factor.hi) / 2;
  rescale(mid, std::max(factor.hi - mid, mid - factor.lo) * cover, static_cast<std::int64_t>(row.mid.size()),
          row.mid.data(), row.radius.data());
  if (!changes_unit) return;  // alpha is at most 1: nothing overflows
  for (std::size_t c = 0; c < row.mid.size(); ++c)
    if (!(std::fabs(row.mid[c]) + row.radius[c] <= f32_largest)) row.radius[c] = infinity;
}

/// What the tile's values that are not finite, and the signs of all, do to the row's columns.
void take_specials(const decoded_tile& tile, std::int64_t begin, std::int64_t end, row_state& row,
                   const tile_scratch& s) {
  row.columns.add_signs(tile.is_negative);
  for (const special_value& v : tile.specials) {
    const auto at = static_cast<std::size_t>(v.key);
    const bool is_zero = v.key < begin || v.key >= end || s.is_void[at] != 0 || (s.p[at] == 0 && s.p_radius[at] == 0);
    const bool is_positive = !is_zero && s.p[at] - s.p_radius[at] > 0;
    row.columns.add(v.column, effect_of(v.value, is_zero       ? weight_kind::zero
                                                 : is_positive ? weight_kind::positive
                                                               : weight_kind::open));
  }
}

/// O = O * alpha, then O += P V by matrix atoms. Without a key that is not void O is exactly 0 and stays so.
void take_values(const decoded_tile& tile, const contract& declared, std::int64_t begin, std::int64_t end,
                 const probability* alpha, row_state& row, const tile_scratch& s) {
  const probability factor = alpha != nullptr ? *alpha : probability{1, 1};
  row.columns.scale(!(factor.lo > 0));
  take_specials(tile, begin, end, row, s);
  rescale_output(factor, tile, declared, row);
  row.has_value |= std::any_of(s.is_void.begin() + begin, s.is_void.begin() + end, [](char v) { return v == 0; });
  if (!row.has_value) return;
  const bool snaps = declared.p_type != dtype::f32;
  const auto tile_keys = static_cast<std::int64_t>(tile.value_bounds.size());
  if (snaps && is_declared(declared.pv_atom)) {
    multiply_exactly(s.p_least.data(), s.p_most.data(), tile.values.data(), begin, end, tile_keys, tile.columns,
                     declared.pv_atom, row.mid.data(), row.radius.data());
    return;
  }
  for (std::int64_t first = 0; first < tile_keys; first += declared.pv.products) {
    // Hidden keys are exact zeros: their memory, which may hold NaN, is not touched.
    const std::int64_t from = std::max(first, begin), to = std::min(first + declared.pv.products, end);
    const std::int64_t at = from < to ? from : 0;
    accumulate_atom(s.p.data() + at, s.p_radius.data() + at, tile.values.data() + at * tile.columns,
                    tile.value_bounds.data() + at, std::max<std::int64_t>(0, to - from), tile.columns, declared.pv,
                    snaps, row.mid.data(), row.radius.data(), {least_normal(declared.p_type), tile.least_value});
  }
}

}  // namespace

decoded_tile::decoded_tile(std::int64_t tile_keys, std::int64_t dim_qk, std::int64_t dim_v, const contract& declared)
    : lanes(pad_to(tile_keys, lane_block)),
      dim(pad_to(dim_qk, declared.qk.products)),
      columns(pad_to(dim_v, lane_block)),
      keys(static_cast<std::size_t>(dim * lanes)),
      key_bounds(static_cast<std::size_t>(lanes)),
      values(static_cast<std::size_t>(tile_keys * columns)),
      value_bounds(static_cast<std::size_t>(tile_keys)),
      is_negative(static_cast<std::size_t>(columns)) {}

tile_scratch::tile_scratch(std::int64_t lanes)
    : w(static_cast<std::size_t>(lanes)),
      e(w),
      p(w),
      p_radius(w),
      p_least(w),
      p_most(w),
      bias(w),
      is_void(static_cast<std::size_t>(lanes)) {}

void row_state::reset() {
  has_maximum = is_lost = is_nan = has_value = false;
  overflowing_sink = 0;
  sum = {0, 0};
  least_sum = infinity;
  value_descale = 0;
  std::ranges::fill(mid, 0.0);
  std::ranges::fill(radius, 0.0);
  columns.reset();
}

void row_state::start_from_sink(double sink, const logit_scale& scale, const contract& declared) {
  if (sink == -infinity) return;
  w = sink * log2_e;
  // Its constant is rounded on its own, so theta is not shared: once for log2e's error, once for theta.
  error = (std::fabs(w) * (scale.base_2_error + scale.common_error + unit) + f32_underflow) * logit_cover;
  is_lost = declared.p_shift != 0 || std::isnan(sink) || sink == infinity;
  if (!(std::fabs(w) + error <= f32_largest)) overflowing_sink = sink > 0 ? 1 : -1;
  // An m of -inf or next to it: what the row sees is far above it, and alpha is 0. See move_maximum().
  if (overflowing_sink < 0) return;
  has_maximum = true;
  sum = {1, 1};
  least_sum = 1;
}

void pass_tile(const decoded_tile& tile, row_state& row) {
  for (const special_value& v : tile.specials) row.columns.add(v.column, effect_of(v.value, weight_kind::zero));
}

void visit_tile(const decoded_tile& tile, const contract& declared, row_state& row) {
  rescale_output({1, 1}, tile, declared, row);
}

void replay_tile(const decoded_tile& tile, const contract& declared, const logit_scale& scale, bool is_integer,
                 const double* query, std::int64_t begin, std::int64_t end, const double* bias, row_state& row,
                 tile_scratch& s, code_counts* counts) {
  if (row.is_lost || row.is_nan) return;
  const logits_kind kind = tile_logits(tile, declared, scale, is_integer, query, begin, end, bias, s);
  row.is_nan = kind == logits_kind::nan;
  row.is_lost = kind == logits_kind::open;
  if (kind != logits_kind::known) return;
  const bool had_maximum = row.has_maximum;
  const maximum_step step = move_maximum(declared, scale, s, begin, end, row);
  if (row.is_lost) return;
  if (!row.has_maximum) {  // void keys alone so far: m stays -inf, and O and l stay 0
    take_values(tile, declared, begin, end, nullptr, row, s);
    return;
  }

  const probability peak = peak_of(scale, row.w, row.error, declared);
  const interval sum = round_probabilities(declared, scale, row, peak, step.certain, begin, end, s, counts);
  const double sum_error = declared.sum_roundings * unit * (1 + 0x1p-10);  // (1 + u)^n - 1 for n <= 2^8
  // l is at least the peak but for its roundings: that is the maximum's own p, in this tile or, with alpha = 1, in what
  // l held.
  const double least = (had_maximum ? std::min(peak.lo, row.sum.lo) : peak.lo) * (1 - sum_error) * (1 - 0x1p-50);
  row.sum = {std::max(least, (row.sum.lo * step.alpha.lo + sum.lo) * (1 - sum_error) * (1 - 0x1p-50)),
             (row.sum.hi * step.alpha.hi + sum.hi) * (1 + sum_error) * (1 + 0x1p-50)};
  // The key that holds the maximum, whichever it is, has the peak's p (1 without shift) and arrives with alpha = 1 in
  // later tiles, so l is at least that less what roundings take, however little is known of the logits.
  row.least_sum = std::min(row.least_sum, peak.lo) * (1 - sum_error) * (1 - 0x1p-50);
  row.sum.lo = std::max(row.sum.lo, row.least_sum);
  take_values(tile, declared, begin, end, &step.alpha, row, s);
}

void finish_output(const row_state& row, const contract& declared, double v_scale, std::span<interval> out,
                   std::span<std::uint8_t> rules) {
  const auto set_all = [&](const interval& e, element_rule rule) {
    std::ranges::fill(out, e);
    std::ranges::fill(rules, static_cast<std::uint8_t>(rule));
  };
  if (row.is_nan) return set_all(everything, element_rule::nan);
  if (row.is_lost) return set_all(everything, element_rule::enclosed);
  // The contract's own 0; but of a sink that was -inf in the end O * v_scale / 1.
  const bool is_literal = row.overflowing_sink == 0 || !std::signbit(v_scale);
  if (row.sum.hi == 0) return set_all(point(0), is_literal ? element_rule::positive : element_rule::enclosed);
  const double l = (row.sum.lo + row.sum.hi) / 2, l_radius = std::max(row.sum.hi - l, l - row.sum.lo) * cover;
  const double v_descale = row.value_descale == 0 ? 1.0 : row.value_descale;
  const normalisation n{l, l_radius, row.sum.lo, v_scale, v_descale, declared.normalise_roundings};
  normalise(n, row.mid.data(), row.radius.data(), out.size(), out.data());
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (is_everything(out[c]) && row.radius[c] < infinity) out[c] = overflowed(n, row.mid[c], row.radius[c]);
    const element_rule rule = rule_of(out[c], !std::signbit(v_scale) && row.columns.is_positive(c));
    rules[c] = static_cast<std::uint8_t>(apply(row.columns.state(c), v_scale, out[c], rule));
  }
}

interval finish_lse(const row_state& row, const contract& declared, const logit_scale& scale) {
  if (row.is_lost || row.is_nan) return everything;
  if (row.overflowing_sink < 0 && !row.has_maximum)
    return {-infinity, (row.w + row.error) * 0x1.62e42fefa39efp-1 * (1 - 0x1p-20)};
  if (row.sum.hi == 0) return point(-infinity);
  const interval ln2{0x1.62e42fefa39efp-1, 0x1.62e42fefa39f0p-1};
  const double theta = scale.common_error;
  const logit_gap held = base_of(scale, row.w, row.error, declared.p_shift);
  const interval base = widen(point(held.mid), theta, held.radius * logit_cover) - point(declared.p_shift);
  const interval shift = round_f32(base * ln2, declared.constant_roundings + 1);
  const interval logarithm = widen(log(row.sum), static_cast<double>(declared.log_relative_error),
                                   static_cast<double>(declared.log_absolute_error));
  const interval lse = round_f32(shift + logarithm);
  if (row.overflowing_sink <= 0) return lse;
  // m is infinity, or the sink's own number where the kernel works with natural logarithms.
  const double sink = (row.w - row.error) * 0x1.62e42fefa39efp-1 * (1 - 0x1p-20);
  return {std::min({is_everything(lse) ? sink : lse.lo, sink, f32_largest}), infinity};
}

}  // namespace assay::oracle
