/// The definition of mqa_logits, as problem.hpp states it, in MPFR or binary64.
///
/// Errors. Let u be the arithmetic's unit, H the number of heads and d the dimension. A dot product is within
/// d u sum |q_i k_i|; max(0, x) adds no error. A term has one more product, the sum has H additions, the scale is one
/// more product. So to first order the error is at most (d + H + 2) u |s| sum over h of |w_h| sum |q_i k_i|; d + H + 4
/// covers the higher orders. A head whose dot product is certainly not positive adds an exact zero.
#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/arithmetic.hpp"
#include "oracle/mqa_logits.hpp"

namespace assay::oracle {
namespace {

template <class Real>
struct exact_head {
  std::vector<double> q;
  std::vector<Real> query;
  double weight = 0;
};

template <class Real>
std::vector<exact_head<Real>> heads_of(const problem_view& view, std::int64_t row) {
  const problem& p = view.stated();
  std::vector<exact_head<Real>> heads(static_cast<std::size_t>(p.heads_q));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    heads[h].q.resize(static_cast<std::size_t>(p.head_dim_qk));
    view.load_query(row, static_cast<std::int64_t>(h), heads[h].q.data());
    heads[h].query.assign(heads[h].q.begin(), heads[h].q.end());
    heads[h].weight = view.weight(row, static_cast<std::int64_t>(h));
  }
  return heads;
}

/// `rule`: a head with a NaN among its factors is left out, and NaN is due or admitted (semantics.md).
template <class Real>
interval exact_logit(const std::vector<exact_head<Real>>& heads, const std::vector<double>& k, double scale,
                     element_rule& rule) {
  const std::vector<Real> key(k.begin(), k.end());
  const auto has_nan = [](const std::vector<double>& x) {
    return std::ranges::any_of(x, [](double v) { return std::isnan(v); });
  };
  Real sum = 0;
  double size = 0;
  for (const exact_head<Real>& h : heads) {
    if (has_nan(k) || has_nan(h.q)) {
      if (rule != element_rule::nan) rule = element_rule::or_nan;
      continue;
    }
    Real dot = 0;
    double absolute = 0;
    for (std::size_t d = 0; d < k.size(); ++d) {
      absolute += std::fabs(h.q[d] * k[d]);
      if (k[d] != 0 && h.q[d] != 0) dot += h.query[d] * key[d];
    }
    // NaN and infinity among the data show in `size`: no max makes them 0.
    const Real margin = Real(static_cast<double>(k.size() + 1) * arithmetic<Real>::unit * absolute);
    if (std::isnan(h.weight)) {
      if (rule != element_rule::nan) rule = dot > margin ? element_rule::nan : element_rule::or_nan;
      continue;
    }
    const bool is_dead = std::isfinite(absolute) && dot <= -margin;
    size += std::fabs(h.weight) * (is_dead ? 0.0 : absolute);
    if (dot > 0) sum += Real(h.weight) * dot;
  }
  const double terms = static_cast<double>(k.size() + heads.size()) + 4;
  const double error = terms * arithmetic<Real>::unit * std::fabs(scale) * size * (1 + 0x1p-40);
  const Real value = Real(scale) * sum;
  return outward(value, error);
}

template <class Real>
enclosure evaluate(const problem& planned, std::span<const named_tensor> inputs) {
  const problem_view view(planned, inputs);
  enclosed_tensor logits = hidden_logits(view);
  std::vector<double> k(static_cast<std::size_t>(planned.head_dim_qk));
  for (std::int64_t seq = 0; seq < planned.num_seqs; ++seq)
    for (std::int64_t i = 0; i < view.row_count(seq); ++i) {
      const key_range keys = view.visible(seq, i);
      if (keys.empty()) continue;
      const std::int64_t row = view.first_row(seq) + i;
      const std::vector<exact_head<Real>> heads = heads_of<Real>(view, row);
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        const key_place at = view.place(seq, key);
        view.load_key(at, 0, k.data());
        const auto flat = static_cast<std::size_t>(row * planned.max_model_len + key);
        element_rule rule = element_rule::enclosed;
        logits.elements[flat] = exact_logit(heads, k, view.key_scale(at), rule);
        if (rule == element_rule::enclosed) continue;
        if (logits.kept.empty()) logits.kept.assign(logits.elements.size(), 0);
        logits.kept[flat] = static_cast<std::uint8_t>(rule);
      }
    }
  enclosure exact;
  exact.tensors.push_back(std::move(logits));
  return exact;
}

}  // namespace

enclosure evaluate_mqa_logits_exactly(const problem& planned, std::span<const named_tensor> inputs) {
  return evaluate<mpfr_number>(planned, inputs);
}

enclosure evaluate_mqa_logits_in_binary64(const problem& planned, std::span<const named_tensor> inputs) {
  return evaluate<double>(planned, inputs);
}

}  // namespace assay::oracle
