#include "oracle/tile_logits.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/atoms.hpp"
#include "oracle/exact_atoms.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

/// Stands for an infinite dot product: its logit, and its quotient with every soft cap, lies beyond all of f32's, and
/// within binary64's range.
constexpr double beyond_f32 = 0x1p400;

/// Gives a dot product of numbers that are not all finite its value, if every order of operations makes the same of it.
/// NaN times anything, 0 * infinity and infinity - infinity are NaN. One infinity decides, unless the finite products
/// overflow to the other one.
logits_kind resolve_dot(const decoded_tile& tile, const double* query, std::int64_t key, double factor, double& w,
                        double& e) {
  double sum = 0, finite = 0;
  for (std::int64_t d = 0; d < tile.dim; ++d) {
    const double product = query[d] * tile.keys[static_cast<std::size_t>(d * tile.lanes + key)];
    sum += product;
    if (std::isfinite(product)) finite += std::fabs(product);
  }
  if (std::isnan(sum)) return logits_kind::nan;
  if (!std::isinf(sum) || !(finite < f32_largest / 2)) return logits_kind::open;
  if (factor == 0) return logits_kind::nan;  // infinity * 0
  w = std::copysign(beyond_f32, sum);
  e = 0;
  return logits_kind::known;
}

/// The bias of the keys: void where it is -infinity, and 0 then.
bool take_bias(const double* bias, std::int64_t begin, std::int64_t end, tile_scratch& s) {
  bool has_nan = false;
  for (std::int64_t j = begin; j < end; ++j) {
    const double b = bias[j - begin];
    const bool is_void = b == -infinity;
    s.is_void[static_cast<std::size_t>(j)] = is_void ? 1 : 0;
    s.bias[static_cast<std::size_t>(j)] = is_void ? 0.0 : b;
    has_nan |= std::isnan(b);
  }
  return has_nan;
}

bool are_known(const tile_scratch& s, std::int64_t begin, std::int64_t end) {
  bool all = true;  // NaN and infinity show in w + e
  for (std::int64_t j = begin; j < end; ++j) all &= std::fabs(s.w.data()[j]) + s.e.data()[j] < infinity;
  return all;
}

}  // namespace

logits_kind tile_logits(const decoded_tile& tile, const contract& declared, const logit_scale& scale, bool is_integer,
                        const double* query, std::int64_t begin, std::int64_t end, const double* bias,
                        tile_scratch& s) {
  const bool snaps = declared.p_type != dtype::f32;
  if (is_integer)
    dot_exact(query, tile.keys.data(), tile.dim, tile.lanes, s.w.data(), s.e.data());
  else if (scale.is_any_order)
    dot_in_any_order(query, tile.keys.data(), tile.dim, tile.lanes, scale.dot, s.w.data(), s.e.data());
  else if (snaps && is_declared(declared.qk_atom))
    dot_exact_atoms(query, tile.keys.data(), tile.dim, tile.lanes, declared.qk_atom, s.w.data(), s.e.data());
  else
    dot_atoms(query, tile.keys.data(), tile.key_bounds.data(), tile.dim, tile.lanes, declared.qk, snaps, s.w.data(),
              s.e.data(), {tile.least_query, tile.least_key});
  logits_kind kind = logits_kind::known;
  if (!are_known(s, begin, end))
    for (std::int64_t j = begin; j < end; ++j) {
      double &w = s.w.data()[j], &e = s.e.data()[j];
      if (std::fabs(w) + e < infinity) continue;
      kind = std::max(kind, resolve_dot(tile, query, j, scale.factor, w, e));
    }
  std::fill(s.is_void.begin() + begin, s.is_void.begin() + end, static_cast<char>(0));
  if (bias != nullptr && take_bias(bias, begin, end, s)) kind = logits_kind::nan;
  if (kind != logits_kind::known) return kind;

  to_logits(scale, bias != nullptr ? s.bias.data() + begin : nullptr, end - begin, s.w.data() + begin,
            s.e.data() + begin);
  if (are_known(s, begin, end)) return kind;
  for (std::int64_t j = begin; j < end; ++j) {
    if (s.w.data()[j] == -infinity && s.e.data()[j] == 0)
      s.is_void[static_cast<std::size_t>(j)] = 1;
    else if (!(std::fabs(s.w.data()[j]) + s.e.data()[j] < infinity))
      return logits_kind::open;
  }
  return kind;
}

}  // namespace assay::oracle
