#include "oracle/any_order_errors.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/decode.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;
constexpr double log2_e = 0x1.71547652b82fep+0;

/// (1 + x)^n - 1, from above.
double compound(double x, double n) {
  return std::expm1(n * std::log1p(x)) * cover;
}

/// Relative error of one rounding to nearest, and its absolute error where it underflows. f32 counts as none: the
/// counts of roundings have it. TF32 may be cut, and its subnormals to zero.
double relative_of(dtype type) {
  if (type == dtype::tf32) return 0x1p-10;
  return type == dtype::f32 ? 0 : ulp(type, 1) / 2;
}
double least_of(dtype type) {
  if (type == dtype::tf32) return 0x1p-126;
  return type == dtype::f32 ? 0 : ulp(type, 0) / 2;
}

/// Of one join of a matrix atom, relative to the sum of magnitudes: no power of two below the largest term exceeds it.
double join_error(const accumulation& model) {
  return static_cast<double>(model.alignment_terms) * std::ldexp(1.0, -model.alignment_bits) +
         static_cast<double>(model.result_roundoff);
}

/// Absolute error of one join whose largest product has a subnormal factor, per magnitude of the other factor. Twice as
/// much covers later roundings. A product joins once, so that this counts once for each.
double subnormal_error(const accumulation& model, dtype type) {
  return 2 * static_cast<double>(model.alignment_terms) * std::ldexp(1.0, -model.alignment_bits) * least_normal(type);
}

}  // namespace

any_order_errors errors_of(const contract& declared, const problem& stated, std::int64_t keys, double size) {
  any_order_errors e;
  const auto n = static_cast<double>(keys);
  const double shift = declared.p_shift, slack = declared.rescale_slack;
  const double tiles = std::min(n, std::ceil(n / declared.tile_keys) + 1);
  const double exp2_error = static_cast<double>(declared.exp2_relative_error);
  const double flush = static_cast<double>(declared.exp2_flush);

  // Merging by LSEs: log2(e) times the error of a log of at most 2^31 and of its sum with m ln 2.
  // A state that holds a key has an LSE between the key's logit and that of the whole row: `size` from 0, and the key's
  // distance from the maximum.
  const double of_lse = static_cast<double>(declared.log_absolute_error) +
                        static_cast<double>(declared.log_relative_error) * 22 + 4 * unit * (size + 22);
  e.per_distance = (4 + 4 * log2_e + (shift > 0 ? 2 : 0)) * unit;
  e.exponent = 4 * unit * (2 * slack + shift) + (shift > 0 ? 2 * unit * (size + shift) : 0) + log2_e * of_lse;
  e.per_move = std::log1p(exp2_error) + (declared.merge_roundings + 4) * unit;
  e.most_moves = tiles;
  e.merges = 4;

  e.sum_relative = compound(unit, std::min(n, tiles * declared.sum_roundings) + 8);
  e.sum_absolute = (n + 1) * (2 * flush + 0x1p-140);

  const double atoms =
      std::min(n, tiles * std::ceil(static_cast<double>(declared.tile_keys) / declared.pv.products)) + 8;
  const double p_codes = declared.p_type == dtype::f32 ? 0 : relative_of(declared.p_type);
  const double products = compound(relative_of(declared.product_type), declared.product_roundings) + 2 * unit;
  const double joins = compound(join_error(declared.pv), atoms);
  e.output_relative = (1 + p_codes) * (1 + products) * (1 + joins) * (1 + relative_of(declared.partial_type)) *
                          (1 + relative_of(declared.cache_type)) -
                      1;
  e.absolute_of_p = std::max(least_of(declared.p_type), static_cast<double>(declared.p_flush));
  const double of_p = e.absolute_of_p * std::ldexp(1.0, -declared.p_shift);
  const double subnormal_p = subnormal_error(declared.pv, declared.p_type) * std::ldexp(1.0, -declared.p_shift);
  e.output_absolute = 2 * flush + of_p + subnormal_p + 0x1p-140;
  e.normalised_absolute = declared.normalises_p != 0 ? of_p : 0;

  const double v_scale = std::fabs(static_cast<double>(stated.v_scale)), scales = std::max(1.0, v_scale);
  // What was rounded after v_scale had been applied counts before it here.
  const double undone = v_scale > 0 ? 1 / std::min(1.0, v_scale) : 1;
  const double joined = (n + 8) * (f32_underflow + static_cast<double>(declared.pv.flush));
  // A subnormal v is aligned as the smallest normal one, beside a P of at most 2^(p_shift + rescale_slack).
  const double subnormal_v = subnormal_error(declared.pv, stated.v_type) * std::ldexp(1.0, declared.rescale_slack);
  e.flat = joined + atoms * subnormal_v +
           n * undone * (declared.product_roundings * least_of(declared.product_type) + least_of(declared.cache_type));
  e.normalised_flat = declared.normalises_p != 0 ? e.flat : 0;
  e.ends = (declared.normalise_roundings + 2) * unit + static_cast<double>(declared.sum_epsilon);
  e.underflow = (8 * f32_underflow + least_of(declared.partial_type)) * scales;
  const double of_p_unit = std::ldexp(1.0, declared.p_shift + declared.rescale_slack);
  e.growth = 4 * (n + 1) * of_p_unit;
  // Normalised partials are averages; products and their sums are of P; twice as much covers all roundings.
  if (declared.partial_type == dtype::f16 || declared.cache_type == dtype::f16) e.growth_of_half = 1;
  if (declared.product_type == dtype::f16)
    e.growth_of_half = (declared.normalises_p != 0 ? 1 : declared.product_roundings + 1) * of_p_unit;
  return e;
}

product_error dot_errors_of(const contract& declared, const problem& stated) {
  product_error e;
  const double atoms = std::ceil(static_cast<double>(stated.head_dim_qk) / declared.qk.products) + 1;
  const double joins = compound(join_error(declared.qk) + 0x1p-50, atoms);
  // Scales that are applied to elements round each of them.
  e.relative = (1 + joins) * (1 + relative_of(declared.query_type)) * (1 + relative_of(declared.cache_type)) *
                   (1 + compound(unit, declared.constant_roundings + 2)) -
               1;
  const double subnormal_q = subnormal_error(declared.qk, stated.q_type);
  const double subnormal_k = subnormal_error(declared.qk, stated.k_type);
  e.per_join =
      atoms * (static_cast<double>(declared.qk.flush) + f32_underflow + subnormal_q * least_normal(stated.k_type));
  // An element of q or k times scales that underflows. The dot product is multiplied by all scales afterwards, so those
  // that were in the element already are divided out: any of them.
  double least_scale = 1;
  for (const float scale : {stated.scale, stated.q_scale, stated.k_scale})
    least_scale *= std::min(1.0, std::fabs(static_cast<double>(scale)));
  const auto undone = [&](double least) { return least == 0 || least_scale == 0 ? 0 : least * 2 / least_scale; };
  e.per_query_element = undone(least_of(declared.query_type)) + subnormal_q;
  e.per_key_element = undone(least_of(declared.cache_type)) + subnormal_k;
  // Beyond 65504 or the largest FP8, with the scales that a kernel may have applied: log2(e) comes with the softmax
  // scale.
  const auto grows = [](double scale) { return std::max(1.0, std::fabs(scale)); };
  const double of_key = grows(static_cast<double>(stated.k_scale));
  const double of_query =
      grows(static_cast<double>(stated.scale) * log2_e) * grows(static_cast<double>(stated.q_scale)) * of_key;
  constexpr double most_f16 = 65504.5;
  if (declared.query_type == dtype::f16) e.most_of_query = most_f16 / of_query;
  // Kernels differ in what becomes of larger ones: the largest number, or NaN.
  if (is_fp8(declared.query_type)) e.most_of_query = largest(declared.query_type) / of_query;
  if (declared.cache_type == dtype::f16) e.most_of_key = most_f16 / of_key;
  return e;
}

}  // namespace assay::oracle
