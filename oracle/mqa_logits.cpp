/// The contract of mqa_logits in balls (mid, radius), 16 keys at a time; see atoms.hpp for what a ball's parts cover.
///
/// Where the contract states the order of the sum over heads, head_sums evaluates it. Where it leaves it open:
///
/// With s the key's scale, w_h the weights, r_h = max(0, a_h) and T_h = s w_h r_h, the logit is the f32 sum of T_h with
/// factors and sums in any order. Call a head live where w_h != 0 and r_h > 0 are possible; products and sums of the
/// other heads' terms are exact zeros and move nothing; so is a dot product of zeros. With m live heads a term passes
/// through at most two products and m - 1 rounded sums, so through k = min(sum_roundings, m + 1) roundings. The last of
/// them is common to all terms (its result is the logit), rounds to nearest, and is the judge's: enclosures are those
/// of its operand. So
///   |operand - sum T_h| <= ((1 + u)^(k-1) - 1) sum |T_h|,  u = 2^-24,
/// plus what the a_h leave open, |s| sum |w_h| radius_h, plus underflow: a first product that underflows is 2^-149 off
/// and meets the third factor, at most |w_h| + r_h + |s|; a second product, a fused sum (others are exact there), each
/// once more, perhaps before a factor |s|: |w_h| + r_h + 2 (|s| + 1) per head, and 1 for the last product.
/// Overflow can only be ruled out for all orders at once: no product of two factors, no sum of |w_h| r_h and of |T_h|
/// may reach f32's largest number, also of heads that are not live (infinity times zero is NaN).
#include "oracle/mqa_logits.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "oracle/any_order_errors.hpp"
#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"
#include "oracle/decode.hpp"
#include "oracle/exact_atoms.hpp"
#include "oracle/head_sums.hpp"
#include "oracle/interval.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;
constexpr std::int64_t keys_together = head_sums::keys;

/// Per key, over the heads so far, in any order.
struct unordered_sums {
  double value[keys_together];    ///< sum of w mid
  double spread[keys_together];   ///< sum of |w| radius
  double size[keys_together];     ///< sum of |w| (mid + radius)
  double factors[keys_together];  ///< sum of |w| + mid + radius over live heads
  double live[keys_together];     ///< number of live heads
  double largest[keys_together];  ///< of mid + radius
};

/// Adds a head whose dot products are (mid, radius). A NaN goes into every sum and stays there.
ASSAY_CLONES
void add_head(double weight, const double* mid, const double* radius, unordered_sums& sums) {
  const double magnitude = std::fabs(weight);
  for (std::int64_t j = 0; j < keys_together; ++j) {
    // ReLU of a ball. Signs of sums are exact in binary64; where 0 is inside, what is left is [0, high].
    const double low = mid[j] - radius[j], high = mid[j] + radius[j], half = high * 0.5;
    const double center = low >= 0 ? mid[j] : (high <= 0 ? 0.0 : half);
    const double open = low >= 0 ? radius[j] : (high <= 0 ? 0.0 : half * cover);
    const double top = center + open;
    const bool is_live = (magnitude > 0) & (top > 0);
    sums.value[j] += weight * center;
    sums.spread[j] += magnitude * open;
    sums.size[j] += magnitude * top;
    sums.factors[j] += is_live ? magnitude + top : 0.0;
    sums.live[j] += is_live ? 1.0 : 0.0;
    sums.largest[j] = top > sums.largest[j] ? top : sums.largest[j];
  }
}

/// The logit's operand of the last rounding. `weight_bound` >= max |w_h|, over `heads` heads.
interval finish(const unordered_sums& sums, std::int64_t j, double scale, double weight_bound, double heads,
                std::int32_t sum_roundings) {
  const double s = std::fabs(scale), size = sums.size[j], live = sums.live[j];
  const double before_last = std::max(0.0, std::min<double>(sum_roundings, live + 1) - 1);
  const double relative = before_last * unit * (1 + 0x1p-10);  // (1 + u)^n - 1 for n <= 2^8
  // binary64: one rounding per head in each sum, three more for the products.
  const double slack = (heads + 4) * 0x1p-52;
  const double rounded = relative * size + sums.spread[j] + slack * size;
  const double underflow =
      s == 0 || live == 0 ? 0.0 : f32_underflow * (1 + relative) * (sums.factors[j] + live * 2 * (s + 1) + 1);
  const double reach = (s * rounded + underflow) * cover, value = scale * sums.value[j];
  const double grown = (1 + sum_roundings * unit * (1 + 0x1p-10)) * (1 + slack) * cover;
  const double top = std::max({s * weight_bound, s * sums.largest[j], size, s * size});
  // Every operand in the condition: NaN and infinity in any of them must fail it.
  const bool is_bounded = top * grown + underflow <= f32_largest && std::fabs(value) + reach <= f32_largest &&
                          std::isfinite(weight_bound) && std::isfinite(s) && std::isfinite(size);
  return is_bounded ? interval{value - reach, value + reach} : everything;
}

/// The same of a sum in the stated order: its product with the scale is exact in binary64.
interval finish(const interval& sum, double scale) {
  const double a = sum.lo * scale, b = sum.hi * scale;
  const bool is_bounded = std::fabs(a) <= f32_largest && std::fabs(b) <= f32_largest;  // false for NaN
  return is_bounded ? interval{std::min(a, b), std::max(a, b)} : everything;
}

/// The largest magnitude that is a number.
double largest(const double* values, std::int64_t count) {
  double bound = 0;
  for (std::int64_t i = 0; i < count; ++i) bound = std::max(bound, std::fabs(values[i]));
  return bound;
}

bool has_nan(const double* values, std::int64_t count) {
  return std::any_of(values, values + count, [](double x) { return std::isnan(x); });
}

class evaluation {
 public:
  evaluation(const problem& planned, std::span<const named_tensor> inputs, const contract& declared)
      : problem_(planned),
        declared_(declared),
        view_(planned, inputs),
        dim_(pad_to(planned.head_dim_qk, declared.qk.products)),
        keys_(static_cast<std::size_t>(dim_ * keys_together)),
        any_order_(dot_errors_of(declared, planned)),
        logits_(hidden_logits(view_)) {
    if (declared.head_rows > 0) ordered_.emplace(declared);
  }

  enclosure run() {
    for (std::int64_t seq = 0; seq < problem_.num_seqs; ++seq) run_sequence(seq);
    enclosure bounds;
    bounds.tensors.push_back(std::move(logits_));
    return bounds;
  }

 private:
  struct query_row {
    std::int64_t row;
    key_range visible;
    std::vector<double> queries;       ///< [heads][dim_]
    std::vector<double> query_bounds;  ///< max |q| per head, NaN aside
    std::vector<char> has_nan;         ///< per head: the query holds a NaN
    std::vector<double> weights;
    double weight_bound = 0;  ///< NaN aside
  };

  void run_sequence(std::int64_t seq) {
    std::vector<query_row> rows;
    key_range seen;
    for (std::int64_t i = 0; i < view_.row_count(seq); ++i) {
      const key_range visible = view_.visible(seq, i);
      if (visible.empty()) continue;
      rows.push_back(load_row(view_.first_row(seq) + i, visible));
      seen.end = std::max(seen.end, visible.end);
    }
    for (std::int64_t first = 0; first < seen.end; first += keys_together) {
      const std::int64_t count = std::min(keys_together, seen.end - first);
      load_keys(seq, first, count);
      for (const query_row& r : rows) run_row(r, first, std::min(count, r.visible.end - first));
    }
  }

  query_row load_row(std::int64_t row, key_range visible) const {
    query_row r{row, visible, {}, {}, {}, {}};
    r.queries.resize(static_cast<std::size_t>(problem_.heads_q * dim_));
    for (std::int64_t head = 0; head < problem_.heads_q; ++head) {
      double* const query = r.queries.data() + head * dim_;
      view_.load_query(row, head, query);
      r.query_bounds.push_back(largest(query, problem_.head_dim_qk));
      r.has_nan.push_back(has_nan(query, problem_.head_dim_qk) ? 1 : 0);
      r.weights.push_back(view_.weight(row, head));
      r.weight_bound = std::max(r.weight_bound, std::fabs(r.weights.back()));
    }
    return r;
  }

  /// Keys as columns, [dim_][keys_together]. Lanes behind the last key keep what they held and are not read.
  void load_keys(std::int64_t seq, std::int64_t first, std::int64_t count) {
    std::vector<double> key(static_cast<std::size_t>(problem_.head_dim_qk));
    for (std::int64_t j = 0; j < count; ++j) {
      const key_place at = view_.place(seq, first + j);
      view_.load_key(at, 0, key.data());
      for (std::int64_t d = 0; d < problem_.head_dim_qk; ++d) keys_.data()[d * keys_together + j] = key.data()[d];
      key_bounds_[j] = largest(key.data(), problem_.head_dim_qk);
      key_has_nan_[j] = has_nan(key.data(), problem_.head_dim_qk);
      scales_[j] = view_.key_scale(at);
    }
  }

  void run_row(const query_row& r, std::int64_t first, std::int64_t count) {
    unordered_sums sums{};
    element_rule rules[keys_together] = {};
    if (ordered_) ordered_->clear();
    for (std::int64_t head = 0; head < problem_.heads_q; ++head) {
      double mid[keys_together], radius[keys_together];
      dot(r, head, mid, radius);
      double weight = r.weights[static_cast<std::size_t>(head)];
      leave_out_nan(r, head, mid, radius, rules);
      if (std::isnan(weight)) weight = 0;
      if (ordered_)
        ordered_->add(head, weight, mid, radius);
      else
        add_head(weight, mid, radius, sums);
    }
    if (ordered_) ordered_->join();
    interval* const to = logits_.elements.data() + r.row * problem_.max_model_len + first;
    for (std::int64_t j = 0; j < count; ++j) {
      to[j] = ordered_ ? finish(ordered_->total(j), scales_[j])
                       : finish(sums, j, scales_[j], r.weight_bound, problem_.heads_q, declared_.sum_roundings);
      if (rules[j] != element_rule::enclosed) set_rule(r.row * problem_.max_model_len + first + j, rules[j]);
    }
  }

  /// Of a head whose dot product is NaN, max(0, NaN) is NaN or 0: the logit is NaN or what the other heads make. A
  /// weight that is NaN makes NaN of a dot product above 0; of others, NaN * 0 may be formed or left out. The head's
  /// dot products become 0 there, and the weight must.
  void leave_out_nan(const query_row& r, std::int64_t head, double* mid, double* radius, element_rule* rules) const {
    const bool has_nan_query = r.has_nan[static_cast<std::size_t>(head)] != 0;
    const bool has_nan_weight = std::isnan(r.weights[static_cast<std::size_t>(head)]);
    for (std::int64_t j = 0; j < keys_together; ++j) {
      const bool has_nan_dot = has_nan_query || key_has_nan_[j];
      if (!has_nan_dot && !has_nan_weight) continue;
      const bool is_certain = !has_nan_dot && mid[j] - radius[j] > 0;
      if (rules[j] != element_rule::nan) rules[j] = is_certain ? element_rule::nan : element_rule::or_nan;
      mid[j] = radius[j] = 0;
    }
  }

  void set_rule(std::int64_t flat, element_rule rule) {
    if (logits_.kept.empty()) logits_.kept.assign(logits_.elements.size(), 0);
    logits_.kept[static_cast<std::size_t>(flat)] = static_cast<std::uint8_t>(rule);
  }

  /// f32 results of the atoms, as they stand in registers: ReLU takes nothing finer.
  void dot(const query_row& r, std::int64_t head, double* mid, double* radius) const {
    const double* const query = r.queries.data() + head * dim_;
    if (declared_.order == tile_order::any)
      dot_in_any_order(query, keys_.data(), dim_, keys_together, any_order_, mid, radius);
    else if (is_declared(declared_.qk_atom))
      dot_exact_atoms(query, keys_.data(), dim_, keys_together, declared_.qk_atom, mid, radius);
    else
      dot_atoms(query, keys_.data(), key_bounds_, dim_, keys_together, declared_.qk, true, mid, radius,
                {least_normal(problem_.q_type), least_normal(problem_.k_type)});
    // The atoms' model has an absolute error, which a sum of zeros does not make.
    const double query_bound = r.query_bounds[static_cast<std::size_t>(head)];
    for (std::int64_t j = 0; j < keys_together; ++j)
      if (query_bound * key_bounds_[j] == 0) radius[j] = 0;
  }

  const problem& problem_;
  const contract& declared_;
  problem_view view_;
  std::int64_t dim_;  ///< head_dim_qk padded to whole atoms
  std::vector<double> keys_;
  product_error any_order_;  ///< where the contract has no order
  double key_bounds_[keys_together] = {};
  bool key_has_nan_[keys_together] = {};
  double scales_[keys_together] = {};
  enclosed_tensor logits_;
  std::optional<head_sums> ordered_;  ///< where the contract states the order
};

}  // namespace

enclosed_tensor hidden_logits(const problem_view& view) {
  const problem& p = view.stated();
  const auto columns = static_cast<std::size_t>(p.max_model_len);
  const std::size_t size = static_cast<std::size_t>(p.total_q) * columns;
  enclosed_tensor logits{"logits", dtype::f32, {p.total_q, p.max_model_len}, std::vector<interval>(size, everything)};
  if (p.fills_hidden == 0) logits.kept.assign(size, 0);
  for (std::int64_t seq = 0; seq < p.num_seqs; ++seq)
    for (std::int64_t i = 0; i < view.row_count(seq); ++i) {
      const auto row = static_cast<std::size_t>(view.first_row(seq) + i) * columns;
      const std::int64_t end = std::max<std::int64_t>(0, view.visible(seq, i).end);
      for (std::size_t column = static_cast<std::size_t>(end); column < columns; ++column) {
        if (p.fills_hidden == 0)
          logits.kept[row + column] = 1;
        else
          logits.elements[row + column] = point(-infinity);
      }
    }
  return logits;
}

enclosure enclose_mqa_logits(const problem& planned, std::span<const named_tensor> inputs, const contract& declared) {
  if (planned.num_splits < 1) throw std::invalid_argument("oracle: num_splits is not planned");
  if (declared.qk.products < 1) throw std::invalid_argument("oracle: the contract has no atoms");
  return evaluation(planned, inputs, declared).run();
}

}  // namespace assay::oracle
