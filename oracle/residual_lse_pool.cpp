#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/residual_lse.hpp"

namespace assay::oracle {
namespace {

constexpr std::size_t least_rows = 64, least_of_sequence = 4;
constexpr double least_steps = 4;
/// What is left of a vector below this part of it is rounding: it lies in the others' space.
constexpr double least_left = 1e-8;

double inner_product(const std::vector<double>& x, const std::vector<double>& y) {
  return dot(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
}
double square_sum(const std::vector<double>& x) {
  return inner_product(x, x);
}
double weighted_dot(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i] * y[i];
  return sum;
}
void add_scaled(double factor, const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// The value of the last bit that is set in the f32: 2^-20 of 1 + 2^-20.
double step_of(double value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t significand = (bits & 0x7FFFFFU) | 0x800000U;
  if (value == 0) return std::numeric_limits<double>::infinity();
  return std::ldexp(1.0, std::ilogb(value) - 23 + std::countr_zero(significand));
}

/// Whether the LSEs deviate by enough of their steps; see the head of residual_lse.hpp.
bool has_fine_steps(std::span<const lse_row> rows) {
  double sum = 0, step = std::numeric_limits<double>::infinity();
  for (const lse_row& r : rows) {
    sum += r.exact;
    step = std::min(step, step_of(r.stored));
  }
  const double mean = sum / static_cast<double>(rows.size());
  double squares = 0;
  for (const lse_row& r : rows) squares += (r.exact - mean) * (r.exact - mean);
  return std::sqrt(squares / static_cast<double>(rows.size())) >= least_steps * step;
}

}  // namespace

double lse_row::between(std::int64_t begin, std::int64_t end) const {
  const key_range seen = intersect(keys, {begin, end});
  if (seen.empty()) return 0;
  return mass[static_cast<std::size_t>(seen.end - keys.begin)] -
         mass[static_cast<std::size_t>(seen.begin - keys.begin)];
}

double share_of(const group_level& level, std::int64_t index, const lse_row& row) {
  const std::int64_t unit = level.kind == group_kind::split ? row.split_keys : level.unit;
  switch (level.kind) {
    case group_kind::page:
    case group_kind::split:
    case group_kind::tile:
    case group_kind::key: return row.between(index * unit, (index + 1) * unit);
    case group_kind::prefix: return row.between(0, index * unit);
    case group_kind::share: {
      double sum = 0;
      const std::int64_t period = unit * level.ways, first = row.keys.begin / period * period + index * unit;
      for (std::int64_t key = first; key < row.keys.end; key += period) sum += row.between(key, key + unit);
      return sum;
    }
    case group_kind::first_key: return row.between(row.keys.begin, row.keys.begin + 1);
    case group_kind::last_key: return row.between(row.keys.end - 1, row.keys.end);
    case group_kind::key_before: return row.before;
    case group_kind::key_behind: return row.behind;
    default: return 0;
  }
}

double lse_threshold(std::int64_t groups, std::int64_t rows) {
  constexpr double false_alarms = 1e-9, margin = 1.05, least_explained = 0.02;
  const double of_groups = margin * std::sqrt(2 * std::log(2 * static_cast<double>(groups) / false_alarms));
  return std::max(of_groups, std::sqrt(least_explained * static_cast<double>(rows)));
}

double lse_evidence::sigmas(double shared_variance) const {
  const double beyond = std::fabs(score) - tolerated, noise = std::sqrt(variance + shared_variance);
  if (!(beyond > 0) || !(noise > 0)) return 0;
  return std::copysign(beyond / noise, score);
}

lse_pool::lse_pool(std::span<const lse_row> rows) {
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end].sequence == rows[begin].sequence) ++end;
    if (end - begin >= least_of_sequence && has_fine_steps(rows.subspan(begin, end - begin))) {
      sequences_.push_back(rows_.size());
      for (std::size_t i = begin; i < end; ++i) rows_.push_back(&rows[i]);
    }
    begin = end;
  }
  sequences_.push_back(rows_.size());
  if (is_large_enough()) orthonormalise();
}

bool lse_pool::is_large_enough() const {
  return rows_.size() >= least_rows;
}

void lse_pool::take_out(std::vector<double>& x) const {
  for (int pass = 0; pass < 2; ++pass) {  // the second takes out what rounding left
    for (std::size_t s = 0; s + 1 < sequences_.size(); ++s) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(sequences_[s]),
                 end = x.begin() + static_cast<std::ptrdiff_t>(sequences_[s + 1]);
      const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
      std::for_each(begin, end, [mean](double& each) { each -= mean; });
    }
    for (const std::vector<double>& n : nuisances_) add_scaled(-inner_product(n, x), n, x);
  }
}

/// Less the weighted mean of each sequence.
void lse_pool::centre(std::vector<double>& x, const std::vector<double>& weights) const {
  for (std::size_t s = 0; s + 1 < sequences_.size(); ++s) {
    double sum = 0, whole = 0;
    for (std::size_t i = sequences_[s]; i < sequences_[s + 1]; ++i) {
      sum += weights[i] * x[i];
      whole += weights[i];
    }
    for (std::size_t i = sequences_[s]; i < sequences_[s + 1]; ++i) x[i] -= sum / whole;
  }
}

void lse_pool::orthonormalise() {
  std::vector<double> taken(rows_.size());  // h_i
  for (std::size_t s = 0; s + 1 < sequences_.size(); ++s)
    for (std::size_t i = sequences_[s]; i < sequences_[s + 1]; ++i)
      taken[i] = 1 / static_cast<double>(sequences_[s + 1] - sequences_[s]);
  for (std::size_t n = 0; n < std::tuple_size_v<decltype(lse_row::nuisances)>; ++n) {
    std::vector<double> x;
    x.reserve(rows_.size());
    for (const lse_row* r : rows_) x.push_back(r->nuisances[n]);
    const double before = square_sum(x);
    take_out(x);
    const double size = std::sqrt(square_sum(x));
    if (!(size > least_left * std::sqrt(before))) continue;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] /= size;
      taken[i] += x[i] * x[i];
    }
    nuisances_.push_back(std::move(x));
  }
  for (const lse_row* r : rows_) left_.push_back(r->residual);
  take_out(left_);
  left_out_ = left_;
  for (std::size_t i = 0; i < left_.size(); ++i) left_out_[i] /= std::max(1 - taken[i], least_left);
}

std::vector<double> lse_pool::weights_for(const std::vector<double>& shares) const {
  std::vector<double> u = shares;
  take_out(u);
  if (!(square_sum(u) > least_left * square_sum(shares))) return {};
  double level = 0;
  for (const double x : u) level += std::fabs(x);
  level /= static_cast<double>(2 * u.size());
  std::vector<double> weights;
  weights.reserve(u.size());
  for (const double x : u) weights.push_back(level * level / (x * x + level * level));
  centre(u, weights);
  std::vector<std::vector<double>> columns;
  for (const std::vector<double>& n : nuisances_) {
    std::vector<double> x = n;
    centre(x, weights);
    for (const std::vector<double>& c : columns) add_scaled(-weighted_dot(c, x, weights), c, x);
    const double size = std::sqrt(weighted_dot(x, x, weights));
    if (!(size > least_left)) continue;
    for (double& each : x) each /= size;
    add_scaled(-weighted_dot(x, u, weights), x, u);
    columns.push_back(std::move(x));
  }
  double largest = 0;
  for (std::size_t i = 0; i < u.size(); ++i) largest = std::max(largest, std::fabs(u[i] *= weights[i]));
  for (double& x : u) x /= largest;
  take_out(u);  // what rounding left
  return u;
}

lse_evidence lse_pool::evidence(const std::vector<double>& shares, double tolerance) const {
  const std::vector<double> a = weights_for(shares);
  if (a.empty()) return {};
  lse_evidence e;
  double along = 0, size = 0;
  std::vector<double> u = shares;
  take_out(u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    e.score += a[i] * left_[i];
    e.size += a[i] * shares[i];
    e.tolerated += std::fabs(a[i]) * rows_[i]->floor;
    e.variance += a[i] * a[i] * left_out_[i] * left_out_[i];
    e.rows += shares[i] > 0 ? 1 : 0;
    along += u[i] * left_[i];
    size += u[i] * u[i];
  }
  e.tolerated += tolerance * std::fabs(e.size);
  const double noise = square_sum(left_);
  e.explained = noise > 0 ? along * along / (size * noise) : 0;
  return e;
}

}  // namespace assay::oracle
