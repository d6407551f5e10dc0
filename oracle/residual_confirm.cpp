#include "oracle/residual_confirm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracle/decode.hpp"
#include "oracle/residual_groups.hpp"

namespace assay::oracle {
namespace {

/// Of a group's partial result: rounded to bf16 up to four times, 2^-10 RMS each.
constexpr double partial_error = 0x1p-9;
constexpr double general_tolerance = 0x1p-11;

/// One row's direction and its noise.
class tested_row {
 public:
  tested_row(const residual_finding& group, const residual_row& row, const value_block& values, dtype o_type)
      : row_(row), values_(values), o_type_(o_type), direction_(contribution(group, row, values)) {
    const double* const o = row.exact.data();
    const double along = dot(direction_.data(), o, row.columns) / dot(o, o, row.columns);
    is_all_ = group.kind == group_kind::all_keys;
    for (std::size_t c = 0; !is_all_ && c < direction_.size(); ++c) direction_[c] -= along * o[c];
    size_ = dot(direction_.data(), direction_.data(), row.columns);
  }

  const std::vector<double>& direction() const { return direction_; }
  double size() const { return size_; }
  double score() const {
    return is_all_ ? row_.along * row_.trace : dot(direction_.data(), row_.residual.data(), row_.columns);
  }

  /// max over shapes of c^T C c / trace C.
  double quadratic() const {
    double relative = 0, absolute = 0, rounding = 0, roundings = 0;
    for (std::int64_t key = row_.keys.begin; key < row_.keys.end; ++key) {
      const double weight = row_.weights[static_cast<std::size_t>(key - row_.keys.begin)];
      if (weight == 0) continue;
      const double on = dot(direction_.data(), values_.of(key), row_.columns);
      absolute += on * on;
      relative += weight * weight * on * on;
    }
    for (std::size_t c = 0; c < direction_.size(); ++c) {
      const double square = direction_[c] * direction_[c], step = ulp(o_type_, row_.exact[c]);
      rounding += square * step * step;
      roundings += step * step;
    }
    const auto columns = static_cast<double>(row_.columns);
    return std::max({relative / row_.trace, absolute / row_.value_trace, rounding / roundings, size_ / (columns - 1)});
  }

  /// Variance from the rounding of the group's own partial result.
  double of_partial() const {
    double sum = 0;
    for (const double x : direction_) sum += x * x * x * x;
    return partial_error * partial_error * sum;
  }

  /// As in residual_row, but with what the contributions have in common: a few keys, drawn by their energy, stand for
  /// all. mean over p of sum_j <a'_j, a'_p>^2 / (trace |a'_p|^2) is sum of the squared eigenvalues' shares.
  double inverse_dof() const {
    constexpr std::int64_t probes = 8;
    double sum = 0;
    std::int64_t at = 0;
    std::vector<double> probe(direction_.size());
    const double size = row_.exact_size * row_.trace;
    for (std::int64_t p = 0; p < probes; ++p) {
      const double wanted = (static_cast<double>(p) + 0.5) / probes * row_.sums.back().energy;
      while (at + 1 < row_.keys.size() && row_.sums[static_cast<std::size_t>(at) + 1].energy < wanted) ++at;
      const double* const v = values_.of(row_.keys.begin + at);
      const double along = dot(v, row_.exact.data(), row_.columns) / size;
      for (std::size_t c = 0; c < probe.size(); ++c) probe[c] = v[c] - along * row_.exact[c];
      const double energy = dot(probe.data(), probe.data(), row_.columns);
      if (!(energy > 0)) return 1;
      double squares = 0;
      for (std::int64_t j = 0; j < row_.keys.size(); ++j) {
        const double on = dot(probe.data(), values_.of(row_.keys.begin + j), row_.columns);
        const double weight = row_.weights[static_cast<std::size_t>(j)];
        squares += weight * weight * on * on;
      }
      sum += squares / (row_.trace * energy);
    }
    return std::max(row_.inverse_dof, sum / probes);
  }

 private:
  const residual_row& row_;
  const value_block& values_;
  dtype o_type_;
  std::vector<double> direction_;
  double size_ = 0;
  bool is_all_ = false;
};

/// Errors of V's elements: sum over j and c of (sum over rows of w_j v_jc c_c)^2, while rows are of one block.
class shared_errors {
 public:
  void add(const residual_row& row, const value_block& values, const std::vector<double>& direction) {
    if (row.sequence != sequence_ || values.head_kv != head_kv_) {
      take();
      sequence_ = row.sequence;
      head_kv_ = values.head_kv;
      keys_ = values.keys;
      sums_.assign(values.values.size(), 0);
    }
    const auto columns = static_cast<std::size_t>(row.columns);
    for (std::int64_t key = row.keys.begin; key < row.keys.end; ++key) {
      const double weight = row.weights[static_cast<std::size_t>(key - row.keys.begin)] / row.trace;
      if (weight == 0) continue;
      const double* const v = values.of(key);
      double* const to = sums_.data() + static_cast<std::size_t>(key - keys_.begin) * columns;
      for (std::size_t c = 0; c < columns; ++c) to[c] += weight * v[c] * direction[c];
    }
  }
  double take() {
    total_ += dot(sums_.data(), sums_.data(), static_cast<std::int64_t>(sums_.size()));
    sums_.clear();
    sequence_ = -1;
    return total_;
  }

 private:
  std::int64_t sequence_ = -1, head_kv_ = -1;
  key_range keys_;
  std::vector<double> sums_;
  double total_ = 0;
};

}  // namespace

double value_error(dtype v_type) {
  return size_bytes(v_type) == 1 ? 0x1p-10 : 0;
}

double truncation_of(const accumulation& model, double atoms) {
  return std::ldexp(atoms * std::min(1.0, static_cast<double>(model.alignment_terms)), -model.alignment_bits);
}

double tolerance_of(const accumulation& pv, const residual_row& row) {
  const double atoms = static_cast<double>(row.keys.size()) / std::max(pv.products, 1) + 1;
  return general_tolerance + truncation_of(pv, atoms);
}

residual_evidence confirm(const residual_finding& group, const problem& planned, const accumulation& pv,
                          residual_rows& rows) {
  const double error = value_error(planned.v_type);
  residual_evidence total;
  shared_errors of_values;
  double common = 0;
  rows.visit({group.sequence, group.head_kv, group.row, group.head},
             [&](const residual_row& row, const value_block& values) {
               if (!sums_of(group, row).has_unlike_keys()) return;
               const tested_row tested(group, row, values, planned.o_type);
               if (!(tested.size() > 0) || !std::isfinite(tested.size())) return;
               const bool is_all = group.kind == group_kind::all_keys;
               const double t = row.trace, size = tested.size() / t, quadratic = tested.quadratic() / t;
               // Of all keys, the noise lies across the direction already.
               const double score = tested.score() / t;
               residual_evidence e;
               if (is_all)
                 e = {.score = score, .size = size, .variance = row.noise * quadratic, .rows = 1};
               else
                 e = evidence_of_row(score, size, quadratic, row.noise, 0, tolerance_of(pv, row));
               if (e.rows == 0) return;
               e.spread = e.variance * e.variance * tested.inverse_dof();
               e.tolerated = tolerance_of(pv, row) * size;
               e.shared = tested.of_partial() / (t * t);
               total += e;
               common += row.noise;
               if (error > 0) of_values.add(row, values, tested.direction());
             });
  if (total.rows == 0) return {};
  total.shared += error * error * of_values.take();
  if (group.kind == group_kind::all_keys)
    total.tolerated += 2 * std::sqrt(common / static_cast<double>(total.rows)) * total.size;
  return total;
}

}  // namespace assay::oracle
