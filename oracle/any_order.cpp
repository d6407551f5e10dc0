#include "oracle/any_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/any_order_errors.hpp"
#include "oracle/atoms.hpp"
#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "oracle/specials.hpp"
#include "oracle/tile_logits.hpp"
#include "oracle/tiles.hpp"

namespace assay::oracle {
namespace {

constexpr double unit = 0x1p-24;
constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double ln_2 = 0x1.62e42fefa39efp-1;
/// Terms this far below the largest are given as an absolute error instead: 2^-200 of it.
constexpr double farthest = 200;

/// Of a row whose sum of weights may be off by more than this part of it, O is known as an average of values only.
constexpr double most_error = 0.875;
/// There, keys that weigh less than 2^-60 of the largest are left out.
constexpr double negligible = 60;

/// A visible key that is not void.
struct seen_key {
  std::int64_t key = 0;
  double y = 0;      ///< base-2 logit
  double error = 0;  ///< of the kernel's
  double w = 0;      ///< 2^(y - M)
  double relative = 0;
  double low = 0, high = 0;  ///< of the logarithm (base 2) of the kernel's weight, relative to M
};

/// Sums over the keys of a row, per column of V.
struct column_sums {
  explicit column_sums(std::size_t columns)
      : value(columns), size(columns), weighed(columns), bare(columns), largest(columns), hull(columns) {}
  std::vector<double> value;    ///< w v
  std::vector<double> size;     ///< w (1 + R) |v|
  std::vector<double> weighed;  ///< w R |v|
  std::vector<double> bare;     ///< |v|
  std::vector<double> largest;  ///< max |v|
  std::vector<interval> hull;   ///< of v over the keys that may weigh something; only where weights are not known
};

class row_evaluation {
 public:
  row_evaluation(const problem_view& view, const contract& declared, const any_order_query& asked, std::int64_t columns)
      : view_(view), declared_(declared), asked_(asked), sums_(static_cast<std::size_t>(columns)), states_(columns) {
    sink_ = view.sink(asked.head);
  }

  const any_order_query& asked() const { return asked_; }

  /// The logits of the row's keys in a tile that starts at key `first`.
  void take_logits(const decoded_tile& tile, const logit_scale& scale, std::int64_t first, key_range own,
                   tile_scratch& scratch) {
    is_lost_ = is_lost_ || !scale.is_usable;
    std::vector<double> bias;
    if (view_.has_bias())
      for (std::int64_t key = own.begin; key < own.end; ++key) bias.push_back(view_.bias(asked_.head, asked_.row, key));
    const logits_kind kind =
        tile_logits(tile, declared_, scale, view_.stated().q_type == dtype::i8, asked_.query, own.begin - first,
                    own.end - first, view_.has_bias() ? bias.data() : nullptr, scratch);
    is_nan_ = is_nan_ || kind == logits_kind::nan;
    is_lost_ = is_lost_ || kind == logits_kind::open;
    if (kind != logits_kind::known) return;
    for (std::int64_t key = own.begin; key < own.end; ++key) {
      const auto at = static_cast<std::size_t>(key - first);
      if (scratch.is_void[at] != 0) {
        // By overflow and not by its bias: it is no overflow where a kernel takes exp of natural logits.
        if (scratch.w[at] == -infinity) overflown_.push_back(key);
        continue;
      }
      const double y = scratch.w[at];
      keys_.push_back({key, y, scratch.e[at] + scale.common_error * std::fabs(y)});
    }
  }

  /// Between logits and values: every key's weight, and the error of it.
  void weigh() {
    const double base_2_sink = sink_ * log2_e;
    is_lost_ = is_lost_ || !(base_2_sink <= f32_largest) || (sink_ != -infinity && !(base_2_sink >= -f32_largest));
    is_nan_ = is_nan_ || std::isnan(sink_);
    if (is_nan_ || is_lost_ || is_empty()) return;
    maximum_ = base_2_sink;
    double least_maximum = base_2_sink;
    for (const seen_key& k : keys_) {
      maximum_ = std::max(maximum_, k.y);
      least_maximum = std::max(least_maximum, k.y - k.error);
    }
    double error = 0;  // of keys that may be the maximum
    for (const seen_key& k : keys_)
      if (k.y + k.error >= least_maximum) error = std::max(error, k.error);
    errors_ =
        errors_of(declared_, view_.stated(), static_cast<std::int64_t>(keys_.size()), std::fabs(maximum_) + error);
    is_lost_ = is_lost_ || !(errors_.output_relative + errors_.sum_relative < 0.5);
    if (is_lost_) return;
    rank_keys();
    if (sink_ != -infinity) {
      seen_key as_key{-1, base_2_sink, std::fabs(base_2_sink) * (declared_.constant_roundings + 2) * unit};
      weigh(as_key, error, static_cast<double>(keys_.size()));
      add_weight(as_key);
    }
    for (std::size_t at = 0; at < keys_.size(); ++at) weigh(keys_[at], error, above_[at]);
    for (const seen_key& k : keys_) add_weight(k);
    of_sum_ = (weighed_sum_ + errors_.sum_relative * (sum_ + weighed_sum_) + errors_.sum_absolute +
               (static_cast<double>(keys_.size()) + 8) * 0x1p-52 * sum_) *
              cover;
    is_known_ = of_sum_ < most_error * sum_;
    if (!is_known_ && sink_ == -infinity) std::ranges::fill(sums_.hull, interval{infinity, -infinity});
  }

  /// A tile's values. Keys that the row does not see count where their values are not finite.
  void take_values(const decoded_tile& tile, std::int64_t first) {
    states_.add_signs(tile.is_negative);
    for (const special_value& v : tile.specials) states_.add(v.column, effect_of(v.value, kind_of(first + v.key)));
    if (is_nan_ || is_lost_) return;
    const double descale = tile.value_descale;
    is_lost_ = is_lost_ || !is_descale(descale);
    const auto last = first + static_cast<std::int64_t>(tile.value_bounds.size());
    const auto columns = static_cast<std::size_t>(tile.columns);
    if (is_empty()) take_overflown(tile, first);
    for (; at_ < keys_.size() && keys_[at_].key < last; ++at_) {
      const seen_key& k = keys_[at_];
      const double* const values = tile.values.data() + (k.key - first) * tile.columns;
      largest_value_ =
          std::max(largest_value_, tile.value_bounds[static_cast<std::size_t>(k.key - first)] * std::max(1.0, descale));
      if (!is_known_) {
        if (k.high >= highest_low_ - negligible)
          for (std::size_t c = 0; c < columns; ++c) {
            const double v = values[c] * descale;
            sums_.largest[c] = std::max(sums_.largest[c], std::fabs(v));
            sums_.hull[c] = {std::min(sums_.hull[c].lo, v), std::max(sums_.hull[c].hi, v)};
          }
        continue;
      }
      const double weight = k.w * descale, relative = k.relative;
      for (std::size_t c = 0; c < columns; ++c) {
        const double product = weight * values[c], magnitude = std::fabs(product);
        sums_.value[c] += product;
        sums_.size[c] += magnitude * (1 + relative);
        sums_.weighed[c] += magnitude * relative;
        const double bare = std::fabs(values[c]) * descale;
        sums_.bare[c] += bare;
        sums_.largest[c] = std::max(sums_.largest[c], bare);
      }
    }
  }

  any_order_row finish() const {
    any_order_row row;
    const auto columns = static_cast<std::size_t>(view_.stated().head_dim_v);
    row.o.assign(columns, everything);
    row.rules.assign(columns, is_nan_ ? element_rule::nan : element_rule::enclosed);
    row.lse = everything;
    row.lse_rule = row.rules.empty() ? element_rule::enclosed : row.rules.front();
    if (is_nan_ || is_lost_) return row;
    const double v_scale = view_.stated().v_scale;
    if (is_empty() && !overflown_.empty()) return finish_overflown(std::move(row), v_scale);
    if (is_empty()) {
      row.is_empty = true;
      row.o.assign(columns, point(0));
      row.rules.assign(columns, element_rule::positive);
      row.lse = point(-infinity);
      return row;
    }
    if (!(largest_value_ * errors_.growth * std::fmax(1.0, std::fabs(v_scale)) < 0x1p126)) return row;
    row.lse = is_known_ ? lse() : widest_lse();
    for (std::size_t c = 0; c < columns; ++c) {
      row.o[c] = is_known_ ? output(c, v_scale) : widest_output(c, v_scale);
      // Twice as much covers all roundings before.
      if (sums_.largest[c] * errors_.growth_of_half * std::fmax(1.0, std::fabs(v_scale)) >= 0x1p15) {
        row.rules[c] = element_rule::or_special;
        continue;
      }
      const element_rule rule = rule_of(row.o[c], !std::signbit(v_scale) && states_.is_positive(c));
      row.rules[c] = apply(states_.state(c), v_scale, row.o[c], rule);
    }
    return row;
  }

 private:
  bool is_empty() const { return keys_.empty() && sink_ == -infinity; }

  void take_overflown(const decoded_tile& tile, std::int64_t first) {
    for (const std::int64_t key : overflown_) {
      if (key < first || key >= first + static_cast<std::int64_t>(tile.value_bounds.size())) continue;
      const double* const values = tile.values.data() + (key - first) * tile.columns;
      for (std::size_t c = 0; c < sums_.hull.size(); ++c) {
        const double v = values[c] * tile.value_descale;
        sums_.hull[c] = {std::min(sums_.hull[c].lo, v), std::max(sums_.hull[c].hi, v)};  // from [0, 0]
        largest_value_ = std::max(largest_value_, std::fabs(v));
      }
    }
  }

  /// All keys have logits near f32's lowest. In base 2 they are -inf, and the row is as one without keys; a kernel that
  /// takes exp of natural logits has weights of 1, or averages.
  any_order_row finish_overflown(any_order_row row, double v_scale) const {
    constexpr double roundings = 0x1p-6;  // of P, products and sums, generously
    if (!(largest_value_ * std::fabs(v_scale) < 0x1p100)) return row;
    for (std::size_t c = 0; c < row.o.size(); ++c)
      row.o[c] =
          widen(sums_.hull[c] * point(v_scale), 0, roundings * largest_value_ * std::fabs(v_scale) + f32_underflow);
    row.lse = {-infinity, -0x1p126};
    return row;
  }

  /// How many keys may have a logit above that of each: their sorted ends say so.
  void rank_keys() {
    std::vector<double> highest;
    highest.reserve(keys_.size());
    for (const seen_key& k : keys_) highest.push_back(k.y + k.error);
    std::ranges::sort(highest);
    above_.clear();
    for (const seen_key& k : keys_)
      above_.push_back(static_cast<double>(highest.end() - std::ranges::lower_bound(highest, k.y - k.error)));
  }

  void weigh(seen_key& k, double error_of_maximum, double above) {
    const double distance = maximum_ - k.y;
    const double exponent = k.error + errors_.per_distance * (distance + k.error + error_of_maximum) + errors_.exponent;
    const double moves = std::min(above, errors_.most_moves) + errors_.merges;
    k.high = exponent - distance + moves * errors_.per_move / ln_2;
    k.low = -exponent - distance - moves * errors_.per_move / ln_2;
    highest_low_ = std::max(highest_low_, k.low);
    highest_high_ = std::max(highest_high_, k.high);
    if (!(distance - exponent < farthest)) {  // NaN aside, which no logit is
      k.w = 0, k.relative = 0;
      return;
    }
    // exp(x) - 1 by expm1; x = 2^delta (1 + x)^n in natural logarithms.
    k.relative = std::expm1(exponent * ln_2 + moves * errors_.per_move) * cover;
    k.w = std::exp2(-distance);
  }

  void add_weight(const seen_key& k) {
    sum_ += k.w;
    weighed_sum_ += k.w * k.relative;
  }

  /// Whether P of a key is certainly above 0 and stays so.
  weight_kind kind_of(std::int64_t key) const {
    const auto at = std::ranges::lower_bound(keys_, key, {}, &seen_key::key);
    if (at == keys_.end() || at->key != key || is_nan_ || is_lost_) return weight_kind::zero;
    const double least = at->w * (1 - at->relative) / (declared_.normalises_p != 0 ? sum_ : 1.0);
    return least > std::max({0x1p-100, 4 * errors_.absolute_of_p, 4 * static_cast<double>(declared_.exp2_flush),
                             4 * static_cast<double>(declared_.pv.flush)})
               ? weight_kind::positive
               : weight_kind::open;
  }

  /// Where errors of logits leave open which keys weigh most, O is any average of the values that may weigh something,
  /// and 0 where the sink may: `hull` starts from 0 then. All other keys together weigh less than n 2^-negligible.
  interval widest_output(std::size_t c, double v_scale) const {
    const interval& hull = sums_.hull[c];
    const double roundings = errors_.output_relative + errors_.sum_relative + errors_.ends +
                             static_cast<double>(keys_.size()) * (std::exp2(-negligible) + errors_.sum_absolute);
    const double beyond =
        (roundings * 2 * largest_value_ + errors_.output_absolute * largest_value_ * static_cast<double>(keys_.size()) +
         errors_.flat + errors_.underflow) *
        cover;
    return widen(hull * point(v_scale), 0,
                 (beyond + 0x1p-50 * largest_value_) * std::fabs(v_scale) + errors_.underflow);
  }

  interval widest_lse() const {
    const double terms = std::log2(static_cast<double>(keys_.size()) + 1);
    const interval bits{maximum_ + highest_low_, maximum_ + highest_high_ + terms};
    const double size = std::max(std::fabs(bits.lo), std::fabs(bits.hi)) + 1;
    const double error = static_cast<double>(declared_.log_absolute_error) + errors_.sum_relative +
                         static_cast<double>(declared_.log_relative_error) * 64 + errors_.sum_absolute +
                         static_cast<double>(declared_.sum_epsilon) + (declared_.constant_roundings + 4) * unit * size;
    return widen(bits * point(ln_2), 0, error * cover);
  }

  interval output(std::size_t c, double v_scale) const {
    const double of_sum = of_sum_;
    const double o = sums_.value[c] / sum_, size = std::fabs(o);
    const double of_output = sums_.weighed[c] + errors_.output_relative * sums_.size[c] +
                             errors_.output_absolute * sums_.bare[c] + errors_.flat +
                             (static_cast<double>(keys_.size()) + 8) * 0x1p-51 * sums_.size[c];
    // What P loses where it is normalised first is not divided by l.
    const double after = errors_.normalised_absolute * sums_.bare[c] + errors_.normalised_flat;
    const double spread = (of_output + size * of_sum) / (sum_ - of_sum) + after;
    const double ends = errors_.ends * (size + spread) + errors_.underflow;
    return widen(point(o * v_scale), 0x1p-50, (spread + ends) * std::fabs(v_scale) * cover + errors_.underflow);
  }

  interval lse() const {
    const double size = std::fabs(maximum_) * ln_2 + std::fabs(std::log(sum_)) + 1;
    const double log_error = static_cast<double>(declared_.log_absolute_error) +
                             static_cast<double>(declared_.log_relative_error) * (std::fabs(std::log(sum_)) + 1);
    const double error = -std::log1p(-of_sum_ / sum_) + log_error + static_cast<double>(declared_.sum_epsilon) +
                         (declared_.constant_roundings + 4) * unit * size + declared_.p_shift * 4 * unit;
    return widen(point(maximum_ * ln_2 + std::log(sum_)), 0, error * cover);
  }

  const problem_view& view_;
  const contract& declared_;
  const any_order_query& asked_;
  double sink_ = -infinity;
  bool is_nan_ = false, is_lost_ = false;
  std::vector<std::int64_t> overflown_;  ///< keys whose base-2 logit is below all of f32
  std::vector<seen_key> keys_;           ///< ascending
  std::vector<double> above_;
  double maximum_ = -infinity, sum_ = 0, weighed_sum_ = 0, largest_value_ = 0;
  double of_sum_ = 0;     ///< error of `sum_`
  bool is_known_ = true;  ///< it is small enough to say more than that O is an average
  double highest_low_ = -infinity, highest_high_ = -infinity;
  any_order_errors errors_;
  column_sums sums_;
  column_states states_;
  std::size_t at_ = 0;  ///< the first key whose value was not taken
};

/// Calls visit(first, seen) for each tile of which a row sees a key; `seen` spans those that rows see.
template <class Visit>
void for_each_tile(std::span<const any_order_query> rows, std::int64_t tile_keys, Visit visit) {
  key_range all;
  for (const any_order_query& r : rows)
    if (!r.visible.empty())
      all = all.empty() ? r.visible : key_range{std::min(all.begin, r.visible.begin), std::max(all.end, r.visible.end)};
  for (std::int64_t tile = all.begin / tile_keys; tile * tile_keys < all.end; ++tile) {
    const key_range keys{tile * tile_keys, (tile + 1) * tile_keys};
    key_range seen{keys.end, keys.begin};
    for (const any_order_query& r : rows) {
      const key_range own = intersect(r.visible, keys);
      if (!own.empty()) seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    if (!seen.empty()) visit(keys.begin, seen);
  }
}

}  // namespace

std::vector<any_order_row> enclose_in_any_order(const problem_view& view, const contract& declared,
                                                const logit_scale& scale, std::int64_t seq, std::int64_t head_kv,
                                                std::span<const any_order_query> rows) {
  // Only how many keys are decoded at once: no descale changes within a page.
  const std::int64_t tile_keys =
      view.has_page_descales() ? std::gcd(std::int64_t{64}, std::int64_t{view.stated().page_size}) : 64;
  decoded_tile tile(tile_keys, view.stated().head_dim_qk, view.stated().head_dim_v, declared);
  tile_scratch scratch(tile.lanes);
  std::vector<row_evaluation> all;
  all.reserve(rows.size());
  for (const any_order_query& r : rows) all.emplace_back(view, declared, r, tile.columns);
  for_each_tile(rows, tile_keys, [&](std::int64_t first, key_range seen) {
    decode_tile(view, seq, head_kv, first, seen, tile);
    const logit_scale of_tile = view.has_page_descales() ? scale_of_tile(scale, tile.key_descale) : scale;
    for (row_evaluation& r : all) {
      const key_range own = intersect(r.asked().visible, {first, first + tile_keys});
      if (!own.empty()) r.take_logits(tile, of_tile, first, own, scratch);
    }
  });
  for (row_evaluation& r : all) r.weigh();
  for_each_tile(rows, tile_keys, [&](std::int64_t first, key_range seen) {
    decode_tile(view, seq, head_kv, first, seen, tile);
    for (row_evaluation& r : all) r.take_values(tile, first);
  });
  std::vector<any_order_row> results;
  results.reserve(all.size());
  for (const row_evaluation& r : all) results.push_back(r.finish());
  return results;
}

}  // namespace assay::oracle
