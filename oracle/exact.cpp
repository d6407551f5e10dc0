/// The definition of attention, as problem.hpp states it, in MPFR or binary64.
///
/// Errors. With the arithmetic's unit u, n keys and dimension d:
///   t_j: (d + 5) u |scale kd_j| sum |q_i k_i|; soft cap (tanh is 1-Lipschitz) and bias each add 2 u of their
///   magnitude. Call the largest of these over the row `delta`. exp(x_j - X), X the largest logit, has relative error 2
///   (2 delta + 2 u (1 + |x_j - X|)), where |x_j - X| <= 2 max |x|. Sums over keys add n u. So every weight is right
///   within the relative error `relative` below, O within 3 relative max |vd_j v_j| (vd_j v_j is exact: at most 24 + 24
///   bits), and LSE within 2 relative + 4 u |LSE|. In binary64 a weight or a product may underflow: by at most 2^-1074
///   each, where the largest weight is 1 and no |v_j| but 0 is below 2^-149; the n u of the sums covers that.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "oracle/arithmetic.hpp"
#include "oracle/attention.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {
namespace {

/// The logits of a row with the bound of their error.
template <class Real>
struct exact_logits {
  std::vector<Real> x;
  std::vector<double> slopes;  ///< by the logarithm of the scale; rounded
  double error = 0;
  double magnitude = 0;
  bool is_finite = true;
};

template <class Real>
class definition {
 public:
  definition(const problem& stated, std::span<const named_tensor> inputs) : problem_(stated), view_(stated, inputs) {}

  const problem_view& view() const { return view_; }

  exact_row evaluate(std::int64_t seq, std::int64_t i, std::int64_t head) const {
    using std::exp, std::log, std::isfinite, std::isinf;  // MPFR's are found by its type
    const key_range keys = view_.visible(seq, i);
    const std::int64_t row = view_.first_row(seq) + i;
    const double sink = view_.sink(head);
    exact_row result{std::vector<interval>(static_cast<std::size_t>(problem_.head_dim_v), point(0)), point(-infinity)};
    if (keys.empty() && sink == -infinity) return result;

    const exact_logits<Real> logits = logits_of(seq, row, head, keys);
    Real largest = sink;
    for (const Real& x : logits.x) largest = std::max(largest, x);
    if (isinf(largest) && largest < 0) return result;  // every bias is -inf
    const double magnitude = magnitude_of(logits, sink);
    const double relative = relative_error(logits, keys, sink);
    if (!logits.is_finite || !isfinite(largest) || !(relative < 0x1p-34)) {
      std::ranges::fill(result.o, everything);
      result.lse = everything;
      return result;
    }

    const std::size_t columns = result.o.size();
    Real z = sink == -infinity ? Real(0) : Real(exp(Real(sink) - largest));
    std::vector<Real> sums(columns, Real(0));
    std::vector<double> values(columns), largest_values(columns);
    std::vector<char> is_finite(columns, 1);
    std::size_t at = 0;
    for (std::int64_t key = keys.begin; key < keys.end; ++key, ++at) {
      const Real weight = exp(logits.x[at] - largest);
      z += weight;
      const key_place place = view_.place(seq, key);
      view_.load_value(place, head / view_.heads_per_group(), values.data());
      const double descale = view_.v_descale(place.page, head / view_.heads_per_group());
      for (std::size_t c = 0; c < columns; ++c) {
        values[c] = is_descale(descale) ? values[c] * descale : infinity;
        if (!std::isfinite(values[c])) {
          is_finite[c] = 0;
          continue;
        }
        largest_values[c] = std::max(largest_values[c], std::fabs(values[c]));
        if (values[c] != 0) sums[c] += weight * Real(values[c]);
      }
    }
    const Real v_scale(problem_.v_scale);
    for (std::size_t c = 0; c < columns; ++c)
      result.o[c] = is_finite[c] == 0
                        ? everything
                        : outward(sums[c] * v_scale / z,
                                  4 * relative * largest_values[c] * std::fabs(static_cast<double>(problem_.v_scale)));
    const Real lse = largest + log(z);
    result.lse = outward(lse, 2 * relative + 4 * unit * (std::fabs(static_cast<double>(lse)) + magnitude));
    return result;
  }

  /// Logits less the LSE; see exact_weights.
  exact_weights weights(std::int64_t seq, std::int64_t i, std::int64_t head) const {
    using std::exp, std::log, std::isfinite;
    exact_weights result;
    result.visible = view_.visible(seq, i);
    if (result.visible.empty()) return result;
    const std::int64_t row = view_.first_row(seq) + i;
    const double sink = view_.sink(head);
    const exact_logits<Real> logits = logits_of(seq, row, head, result.visible);
    Real largest = sink;
    for (const Real& x : logits.x) largest = std::max(largest, x);
    if (!logits.is_finite || !isfinite(largest) || !(relative_error(logits, result.visible, sink) < 0x1p-34))
      return result;
    Real z = sink == -infinity ? Real(0) : Real(exp(Real(sink) - largest));
    for (const Real& x : logits.x) z += exp(x - largest);
    const Real lse = largest + log(z);
    const auto neighbour = [&](std::int64_t key) {
      if (key < 0 || key >= view_.key_count(seq)) return std::numeric_limits<double>::quiet_NaN();
      const exact_logits<Real> hidden = logits_of(seq, row, head, {key, key + 1});
      return hidden.is_finite ? static_cast<double>(hidden.x.front() - lse) : std::numeric_limits<double>::quiet_NaN();
    };
    result.before = neighbour(result.visible.begin - 1);
    result.behind = neighbour(result.visible.end);
    for (const Real& x : logits.x) result.x.push_back(static_cast<double>(x - lse));
    result.lse = static_cast<double>(lse);
    for (std::size_t j = 0; j < result.x.size(); ++j) result.slope += std::exp(result.x[j]) * logits.slopes[j];
    return result;
  }

 private:
  static constexpr double unit = arithmetic<Real>::unit;

  static double magnitude_of(const exact_logits<Real>& logits, double sink) {
    return std::max(logits.magnitude, std::isfinite(sink) ? std::fabs(sink) : 0.0);
  }

  /// Of every weight; see the head of this file.
  static double relative_error(const exact_logits<Real>& logits, key_range keys, double sink) {
    const double n = static_cast<double>(keys.size()) + 1;
    return 2 * (2 * logits.error + 2 * unit * (1 + 2 * magnitude_of(logits, sink))) + (n + 4) * unit;
  }

  exact_logits<Real> logits_of(std::int64_t seq, std::int64_t row, std::int64_t head, key_range keys) const {
    using std::tanh, std::isfinite;
    const auto dim = static_cast<std::size_t>(problem_.head_dim_qk);
    std::vector<double> q(dim), k(dim);
    view_.load_query(row, head, q.data());
    const std::vector<Real> query(q.begin(), q.end());
    const Real scale = Real(problem_.scale) * Real(problem_.q_scale) * Real(problem_.k_scale);
    const Real soft_cap(problem_.soft_cap);
    exact_logits<Real> logits;
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      const key_place place = view_.place(seq, key);
      view_.load_key(place, head / view_.heads_per_group(), k.data());
      const double descale = view_.k_descale(place.page, head / view_.heads_per_group());
      Real dot = 0;
      double absolute = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        dot += query[d] * Real(k[d]);
        absolute += std::fabs(q[d] * k[d]);
      }
      Real x = scale * Real(descale) * dot;
      double error = (static_cast<double>(dim) + 7) * unit * std::fabs(static_cast<double>(scale) * descale) * absolute;
      double slope = static_cast<double>(x);
      if (problem_.soft_cap > 0) {
        x = soft_cap * tanh(x / soft_cap);
        const double share = static_cast<double>(x) / static_cast<double>(problem_.soft_cap);
        slope *= 1 - share * share;
        error += 4 * unit * static_cast<double>(problem_.soft_cap);
      }
      if (view_.has_bias()) {
        const double bias = view_.bias(head, row, key);
        x += Real(bias);
        if (bias == -infinity && std::isfinite(absolute) && is_descale(descale)) {
          logits.x.push_back(x);
          logits.slopes.push_back(0);
          continue;
        }
        error += 2 * unit * (std::fabs(bias) + std::fabs(static_cast<double>(x)));
      }
      logits.is_finite = logits.is_finite && isfinite(x) && std::isfinite(absolute) && is_descale(descale);
      logits.error = std::max(logits.error, error);
      logits.magnitude = std::max(logits.magnitude, std::fabs(static_cast<double>(x)));
      logits.x.push_back(std::move(x));
      logits.slopes.push_back(slope);
    }
    return logits;
  }

  const problem& problem_;
  problem_view view_;
};

/// `evaluate_row(sequence, row, head)` over all rows and heads.
template <class Evaluate>
enclosure evaluate_rows(const problem& planned, const problem_view& view, Evaluate evaluate_row) {
  const auto rows = static_cast<std::size_t>(planned.total_q), heads = static_cast<std::size_t>(planned.heads_q);
  const auto dim = static_cast<std::size_t>(planned.head_dim_v);
  enclosed_tensor o{"o", planned.o_type, {planned.total_q, planned.heads_q, planned.head_dim_v}, {}};
  enclosed_tensor lse{"lse", dtype::f32, {planned.total_q, planned.heads_q}, {}};
  o.elements.assign(rows * heads * dim, everything);
  lse.elements.assign(rows * heads, everything);
  for (enclosed_tensor* t : {&o, &lse}) keep_padding(*t, 0, view.end_of_rows());
  for (std::int64_t seq = 0; seq < planned.num_seqs; ++seq)
    for (std::int64_t i = 0; i < view.row_count(seq); ++i)
      for (std::int64_t head = 0; head < planned.heads_q; ++head) {
        const exact_row result = evaluate_row(seq, i, head);
        const auto at = static_cast<std::size_t>((view.first_row(seq) + i) * planned.heads_q + head);
        std::ranges::copy(result.o, o.elements.begin() + static_cast<std::ptrdiff_t>(at * dim));
        lse.elements[at] = result.lse;
      }
  return {{std::move(o), std::move(lse)}};
}

}  // namespace

exact_row evaluate_attention_row(const problem& stated, std::span<const named_tensor> inputs, std::int64_t seq,
                                 std::int64_t i, std::int64_t head) {
  exact_row fast = definition<double>(stated, inputs).evaluate(seq, i, head);
  return is_everything(fast.lse) ? definition<mpfr_number>(stated, inputs).evaluate(seq, i, head) : fast;
}

weight_evaluation evaluate_attention_weights(const problem& stated, std::span<const named_tensor> inputs) {
  const auto attention = std::make_shared<const definition<double>>(stated, inputs);
  return [attention](std::int64_t seq, std::int64_t i, std::int64_t head) { return attention->weights(seq, i, head); };
}

enclosure evaluate_attention_exactly(const problem& planned, std::span<const named_tensor> inputs) {
  const definition<mpfr_number> attention(planned, inputs);
  return evaluate_rows(planned, attention.view(), [&](std::int64_t seq, std::int64_t i, std::int64_t head) {
    return attention.evaluate(seq, i, head);
  });
}

enclosure evaluate_attention_in_binary64(const problem& planned, std::span<const named_tensor> inputs) {
  const definition<double> attention(planned, inputs);
  const definition<mpfr_number> slower(planned, inputs);
  return evaluate_rows(planned, attention.view(), [&](std::int64_t seq, std::int64_t i, std::int64_t head) {
    exact_row fast = attention.evaluate(seq, i, head);
    return is_everything(fast.lse) ? slower.evaluate(seq, i, head) : std::move(fast);
  });
}

}  // namespace assay::oracle
