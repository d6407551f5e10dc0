/// The proof. Weights are relative to 2^M, M the kernel's last reference: a maximum of keys, or of keys and sink. Let
/// w_j = 2^(y_j - M), L = sum w_j + 2^(s - M) with s = sink log2(e). The key or sink that is M has weight 1, so L >= 1,
/// and with N = sum w_j v_j and V the largest |v_j|, |N| <= V L.
///
/// A kernel has weights w_j (1 + r_j) + a_j for w_j. In the exponent it errs by
///   the logit's own error E, and twice the roundings of a reference (m, and base = m - shift): 2^-24 (|m| + shift)
///   each; the rounding of the argument, 2^-24 (d + shift) with d = M - y_j at the tile, and of each alpha's argument,
///   whose sum is below d as well. These multiply 2^-d, and d 2^-d ln 2 < 0.54, so they add less than 2 2^-24 to a_j
///   and shift 2^-24 to the exponent.
/// Each exp2 has the contract's relative error, T + 1 of them in T tiles. P's rounding adds u_P to r_j, or half of P's
/// least number (or what is flushed) times 2^-shift to a_j; later alphas are at most 1. What exp2 flushes is less than
/// 2^-125. O passes one rounding per tile and per atom, where an atom errs by alignment_terms 2^(e_max - bits), of a
/// largest magnitude that is at most V times the weights, times the ratio of the extreme descales in which O is held,
/// and at most twice the largest power of two below it. l passes sum_roundings per tile.
///
/// With R >= |r_j| and A >= a_j, of the sum too: |N'/L' - N/L| <= V 2 (R + n A) / (1 - R - n A), and
/// |ln L' - ln L| <= -ln(1 - R - n A). The sink's weight errs by the roundings of s, of its difference, and of exp2.
#include "oracle/any_order.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/atoms.hpp"
#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;
constexpr double log2_e = 0x1.71547652b82fep+0;

/// R and n A of the weights in l; of O with what P and the atoms add.
struct weight_errors {
  double of_sum = 0;
  double of_output = 0;
};

weight_errors errors_of(const row_summary& row, const contract& declared, double sink) {
  const auto tiles = static_cast<double>(row.tiles), keys = static_cast<double>(row.keys);
  const double shift = declared.p_shift, base_2_sink = std::fabs(sink) * log2_e;
  const double largest = std::max(row.logit + row.logit_error, base_2_sink);
  const double sink_error = base_2_sink * (declared.constant_roundings + 1) * unit;
  const double exponent = row.logit_error + sink_error + (4 * (largest + shift) + shift) * unit;
  const double factors = (tiles + 2) * (static_cast<double>(declared.exp2_relative_error) +
                                        (declared.sum_roundings + declared.merge_roundings + 2) * unit);
  const double shrink = std::ldexp(1.0, -declared.p_shift);
  const double absolute = (keys + 1) * (4 * unit + 2 * shrink * static_cast<double>(declared.exp2_flush) + 0x1p-140);
  if (!(exponent < 1) || !(factors < 0x1p-3)) return {infinity, infinity};
  // 2^x - 1 <= x for x in [0, 1]; (1 + a)(1 + b) <= 1 + a + b + ab, and exp(f) - 1 <= f (1 + f) for f <= 1.
  const double compound = factors * (1 + factors);
  weight_errors e;
  e.of_sum = exponent + compound + exponent * compound + absolute;

  const double atoms =
      tiles * std::ceil(static_cast<double>(declared.tile_keys) / static_cast<double>(declared.pv.products));
  const double aligned =
      static_cast<double>(declared.pv.alignment_terms) * std::ldexp(1.0, -declared.pv.alignment_bits);
  const double ratio = row.value_descale[1] / row.value_descale[0];
  const double matrix = atoms * (aligned + static_cast<double>(declared.pv.result_roundoff)) * ratio;
  double codes = 0, least = 0;
  if (declared.p_type != dtype::f32) {
    codes = ulp(declared.p_type, 1) / 2;
    least = std::max(ulp(declared.p_type, 0) / 2, static_cast<double>(declared.p_flush)) * shrink;
  }
  e.of_output = (1 + e.of_sum) * (1 + codes) * (1 + matrix * (1 + matrix)) - 1 + 2 * keys * least;
  return e;
}

}  // namespace

void summarise(const decoded_tile& tile, const logit_scale& scale, const tile_scratch& scratch, std::int64_t begin,
               std::int64_t end, row_summary& row) {
  row.value_descale[0] = row.tiles == 0 ? tile.value_descale : std::min(row.value_descale[0], tile.value_descale);
  row.value_descale[1] = row.tiles == 0 ? tile.value_descale : std::max(row.value_descale[1], tile.value_descale);
  ++row.tiles;
  for (std::int64_t j = begin; j < end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    ++row.keys;
    row.value = std::max(row.value, tile.value_bounds[at] * tile.value_descale);
    if (scratch.is_void[at] != 0) continue;
    const double size = std::fabs(scratch.w[at]);
    row.logit = std::max(row.logit, size);
    row.logit_error = std::max(row.logit_error, scratch.e[at] + scale.common_error * size);
  }
}

void widen_for_any_order(const row_summary& row, const contract& declared, double sink, double v_scale,
                         exact_row& exact) {
  const weight_errors errors = errors_of(row, declared, sink);
  const bool is_decided = errors.of_output < 0.5 && is_descale(row.value_descale[0]) &&
                          is_descale(row.value_descale[1]) && row.value * std::fabs(v_scale) < 0x1p100;
  if (!is_decided) {
    std::ranges::fill(exact.o, everything);
    exact.lse = everything;
    return;
  }
  const double ends = (declared.normalise_roundings + 1) * unit;
  const double spread = 2 * errors.of_output / (1 - errors.of_output) + ends * (1 + 4 * errors.of_output);
  // O and the scales may underflow on the way: by 2^-149 each, times what the scales make of it.
  const double underflow = (static_cast<double>(row.keys) + 8) *
                           (f32_underflow + static_cast<double>(declared.pv.flush)) *
                           std::max(1.0, row.value_descale[1]) * std::max(1.0, std::fabs(v_scale));
  for (interval& o : exact.o) o = widen(o, 0, (spread * row.value * std::fabs(v_scale) + underflow) * cover);
  const double size = (std::max(row.logit, std::fabs(sink) * log2_e) + declared.p_shift) * (1 + 0x1p-10);
  const double logarithm = static_cast<double>(declared.log_absolute_error) +
                           static_cast<double>(declared.log_relative_error) * 64;  // |ln l| is below 64
  const double lse_error =
      -std::log1p(-errors.of_sum) + logarithm + (declared.constant_roundings + 3) * unit * (size + 64);
  exact.lse = widen(exact.lse, 0, lse_error * cover);
}

}  // namespace assay::oracle
