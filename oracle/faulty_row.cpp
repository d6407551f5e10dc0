#include "oracle/faulty_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/interval.hpp"

namespace assay::oracle {

faulty_row::faulty_row(const problem_view& view, std::int64_t seq, std::int64_t i, std::int64_t head)
    : sink(view.sink(head)), view_(&view), seq_(seq), i_(i), head_(head) {
  query_.resize(static_cast<std::size_t>(view.stated().head_dim_qk));
  view.load_query(view.first_row(seq) + i, head, query_.data());
  const key_range visible = view.visible(seq, i);
  for (std::int64_t key = visible.begin; key < visible.end; ++key) add(key);
}

double faulty_row::factor() const {
  const problem& p = view_->stated();
  return static_cast<double>(p.scale) * static_cast<double>(p.q_scale) * static_cast<double>(p.k_scale);
}

void faulty_row::add(std::int64_t key) {
  faulty_key added{.key = key, .place = {}};
  if (view_->has_bias()) added.bias = view_->bias(head_, view_->first_row(seq_) + i_, key);
  keys.push_back(added);
  values.emplace_back(static_cast<std::size_t>(view_->stated().head_dim_v));
  move(keys.size() - 1, view_->place(seq_, key));
}

void faulty_row::move(std::size_t at, key_place to) {
  faulty_key& k = keys[at];
  k.place = to;
  k.k_descale = view_->k_descale(to.page, head_kv());
  k.v_descale = view_->v_descale(to.page, head_kv());
  std::vector<double> key(query_.size());
  view_->load_key(to, head_kv(), key.data());
  view_->load_value(to, head_kv(), values[at].data());
  k.dot = factor() * std::inner_product(query_.begin(), query_.end(), key.begin(), 0.0);
}

double faulty_row::logit(const faulty_key& k) const {
  const double cap = view_->stated().soft_cap, t = k.dot * k.k_descale;
  return (cap > 0 ? cap * std::tanh(t / cap) : t) + k.bias;
}

row_result faulty_row::evaluate() const {
  row_result result{std::vector<double>(static_cast<std::size_t>(view_->stated().head_dim_v)), -infinity};
  std::vector<double> logits(keys.size());
  double largest = sink;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    logits[j] = logit(keys[j]);
    if (keys[j].weight_factor != 0) largest = std::max(largest, logits[j]);
  }
  if (largest == -infinity) return result;
  double sum = std::exp(sink - largest);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const double weight = keys[j].weight_factor * std::exp(logits[j] - largest);
    if (weight == 0) continue;
    sum += weight;
    const double share = weight * keys[j].output_factor * keys[j].v_descale;
    const double* const v = values[j].data();
    for (std::size_t c = 0; c < result.o.size(); ++c) result.o[c] += share * v[c];
  }
  const double v_scale = view_->stated().v_scale;
  for (double& o : result.o) o = o * v_scale / sum;
  result.lse = largest + std::log(sum);
  return result;
}

}  // namespace assay::oracle
