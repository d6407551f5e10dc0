#include "oracle/atoms.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "oracle/clones.hpp"

namespace assay::oracle {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t block = lane_block;

/// Alignment errors from here on are far below one f32 rounding, and a bound of the largest product will do for them.
constexpr int fine_alignment_bits = 36;

/// An accumulation model in the form of the loops. `alignment` multiplies the largest magnitude of c and the products.
struct atom_error {
  double alignment;
  double slack;  ///< binary64's own error, same base
  double roundoff;
  double absolute;
  bool is_fine;
  bool rounds_to_nearest;
};

atom_error error_of(const accumulation& model, bool snaps) {
  const double terms = model.products + 1;
  return {static_cast<double>(model.alignment_terms) * std::ldexp(1.0, -model.alignment_bits),
          terms * terms * 0x1p-53,
          static_cast<double>(model.result_roundoff),
          static_cast<double>(model.flush) + f32_underflow,
          model.alignment_bits >= fine_alignment_bits,
          snaps && model.result_roundoff <= 0x1p-24F};
}

/// Largest power of two not above a positive normal value; infinities and NaN stay not finite.
[[gnu::always_inline]] inline double power_below(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xFFF0000000000000U);
}

/// What an atom leaves of one lane.
struct ball {
  double mid;
  double radius;
};

/// An atom's result. x: computed sum; r: radius of accumulator and products; top: bound of the largest magnitude among
/// them. A model that rounds to nearest gives the f32 next to some number within `reach` of x, and rounding is
/// monotone: all results lie between the roundings of both ends, often one single number. (Other f32 numbers are not
/// results.) Ties go either way: slack makes `reach` positive. A coarser model gives anything within its relative
/// error.
[[gnu::always_inline]] inline ball atom_result(double x, double r, double top, const atom_error& e) {
  const double aligned = e.is_fine ? top : power_below(top);
  const double reach = (r + (e.alignment * aligned + e.slack * top) + e.absolute) * cover;
  if (e.rounds_to_nearest) {
    const auto lo = static_cast<double>(static_cast<float>(x - reach));
    const auto hi = static_cast<double>(static_cast<float>(x + reach));
    // Half the sum and difference of f32 numbers: exact but for the sum's last bits, which 2^-52 covers.
    const double mid = (lo + hi) / 2, radius = (hi - lo) / 2;
    const double covered = radius == 0 ? 0 : radius + 0x1p-52 * std::fabs(mid);
    return {mid, std::fabs(mid) + radius <= f32_largest ? covered : infinite};
  }
  const double after = (reach + e.roundoff * (std::fabs(x) + r)) * cover;
  return {x, std::fabs(x) + after <= f32_largest ? after : infinite};
}

[[gnu::always_inline]] inline double larger(double a, double b) {
  return a > b ? a : b;
}

}  // namespace

ASSAY_CLONES
void dot_atoms(const double* query, const double* keys, const double* key_bounds, std::int64_t dim, std::int64_t lanes,
               const accumulation& model, bool snaps, double* mid, double* radius, const least_operands& least) {
  const atom_error e = error_of(model, snaps);
  for (std::int64_t first = 0; first < lanes; first += block) {
    double acc[block] = {}, r[block] = {};
    for (std::int64_t d = 0; d < dim; d += model.products) {
      double sum[block], top[block] = {};
      for (int l = 0; l < block; ++l) sum[l] = acc[l];
      double query_bound = 0;
      for (std::int64_t i = d; i < d + model.products; ++i) {
        const double q = query[i];
        const double* k = keys + i * lanes + first;
        query_bound = larger(query_bound, std::fabs(q));
        const double aligned_q = larger(std::fabs(q), least.a);
        if (e.is_fine) {
          for (int l = 0; l < block; ++l) sum[l] += q * k[l];
        } else {
          for (int l = 0; l < block; ++l) {
            const double product = q * k[l];
            sum[l] += product;
            top[l] = larger(top[l], product != 0 ? aligned_q * larger(std::fabs(k[l]), least.b) : 0.0);
          }
        }
      }
      for (int l = 0; l < block; ++l) {
        const double product = e.is_fine ? query_bound * key_bounds[first + l] : top[l];
        const ball result = atom_result(sum[l], r[l], larger(std::fabs(acc[l]) + r[l], product), e);
        acc[l] = result.mid;
        r[l] = result.radius;
      }
    }
    for (int l = 0; l < block; ++l) {
      mid[first + l] = acc[l];
      radius[first + l] = r[l];
    }
  }
}

ASSAY_CLONES
void dot_in_any_order(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes,
                      const product_error& error, double* mid, double* radius) {
  double query_size = 0, query_bound = 0;
  for (std::int64_t d = 0; d < dim; ++d) {
    query_size += std::fabs(query[d]);
    query_bound = larger(query_bound, std::fabs(query[d]));
  }
  // dim products and sums of binary64: 2^-53 each of at most the sum of magnitudes.
  const double relative = error.relative + (static_cast<double>(dim) + 2) * 0x1p-52;
  for (std::int64_t first = 0; first < lanes; first += block) {
    double sum[block] = {}, size[block] = {}, key_size[block] = {}, key_bound[block] = {};
    for (std::int64_t d = 0; d < dim; ++d)
      for (int l = 0; l < block; ++l) {
        const double k = keys[d * lanes + first + l], product = query[d] * k;
        sum[l] += product;
        size[l] += std::fabs(product);
        key_size[l] += std::fabs(k);
        key_bound[l] = larger(key_bound[l], std::fabs(k));
      }
    for (int l = 0; l < block; ++l) {
      const double underflow =
          error.per_join + error.per_query_element * key_size[l] + error.per_key_element * query_size;
      const double r = (relative * size[l] + underflow) * cover;
      mid[first + l] = sum[l];
      const bool is_bounded = (size[l] + r <= f32_largest) & (query_bound < error.most_of_query) &
                              (key_bound[l] < error.most_of_key);  // false for NaN
      radius[first + l] = is_bounded ? r : infinite;
    }
  }
}

ASSAY_CLONES
void dot_exact(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes, double* mid,
               double* radius) {
  for (std::int64_t first = 0; first < lanes; first += block) {
    double sum[block] = {};
    for (std::int64_t d = 0; d < dim; ++d)
      for (int l = 0; l < block; ++l) sum[l] += query[d] * keys[d * lanes + first + l];
    for (int l = 0; l < block; ++l) {
      mid[first + l] = sum[l];
      radius[first + l] = std::fabs(sum[l]) > 0x1p24 ? std::fabs(sum[l]) * 0x1p-24 : 0.0;
    }
  }
}

ASSAY_CLONES
void accumulate_atom(const double* p, const double* p_radius, const double* values, const double* value_bounds,
                     std::int64_t count, std::int64_t lanes, const accumulation& model, bool snaps, double* mid,
                     double* radius, const least_operands& least) {
  const atom_error e = error_of(model, snaps);
  double product_bound = 0;
  bool is_ambiguous = false;
  for (std::int64_t j = 0; j < count; ++j) {
    product_bound = larger(product_bound, (p[j] + p_radius[j]) * value_bounds[j] * cover);
    is_ambiguous |= p_radius[j] != 0;
  }
  for (std::int64_t first = 0; first < lanes; first += block) {
    double sum[block], top[block], spread[block] = {};
    for (int l = 0; l < block; ++l) {
      sum[l] = mid[first + l];
      top[l] = e.is_fine ? product_bound : 0.0;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const double* v = values + j * lanes + first;
      for (int l = 0; l < block; ++l) sum[l] += p[j] * v[l];
    }
    if (is_ambiguous)
      for (std::int64_t j = 0; j < count; ++j) {
        if (p_radius[j] == 0) continue;
        const double* v = values + j * lanes + first;
        for (int l = 0; l < block; ++l) spread[l] += p_radius[j] * std::fabs(v[l]);
      }
    if (!e.is_fine)
      for (std::int64_t j = 0; j < count; ++j) {
        const double* v = values + j * lanes + first;
        const double most = (p[j] + p_radius[j]) * cover, aligned_p = most > 0 ? larger(most, least.a) : 0.0;
        for (int l = 0; l < block; ++l)
          top[l] = larger(top[l], v[l] != 0 ? aligned_p * larger(std::fabs(v[l]), least.b) : 0.0);
      }
    for (int l = 0; l < block; ++l) {
      const double held = radius[first + l];
      const double largest = larger(std::fabs(mid[first + l]) + held, top[l]);
      const ball result = atom_result(sum[l], held + spread[l], largest, e);
      mid[first + l] = result.mid;
      radius[first + l] = result.radius;
    }
  }
}

ASSAY_CLONES
void rescale(double alpha, double alpha_radius, std::int64_t lanes, double* mid, double* radius) {
  for (std::int64_t c = 0; c < lanes; ++c) {
    // |ab - AB| <= |A| rb + (|b| + rb) ra for true a, b about A, B; 2^-52 |ab| covers the product's own rounding.
    const double scaled = mid[c] * alpha;
    const double r = std::fabs(mid[c]) * alpha_radius + (alpha + alpha_radius) * radius[c];
    radius[c] = (r + (0x1p-24 + 0x1p-52) * (std::fabs(scaled) + r) + f32_underflow) * cover;
    mid[c] = scaled;
  }
}

}  // namespace assay::oracle
