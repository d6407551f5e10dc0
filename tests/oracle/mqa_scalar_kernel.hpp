/// mqa_logits in plain scalar code that follows the contract and takes its freedoms: atoms anywhere within their models
/// and, unless the contract states the order of the sum, order of factors and sums, fused or not, roundings. With a
/// fault planted it breaks one rule. Shares no code with the oracle.
#pragma once

#include <cmath>

#include "tests/oracle/mqa_setting.hpp"

namespace assay::testing {

enum class mqa_fault {
  none,
  head_missing,       ///< the last head
  relu_after_sum,     ///< once, on the weighted sum of the signed dot products
  next_keys_scale,    ///< the scale of the key's neighbour in its page
  columns_shifted,    ///< each logit one column to the right
  wrong_page,         ///< keys from the second page on come from the page before
  plain_order,        ///< preshuffled keys are read as plain ones
  weight_inside,      ///< ReLU of the weighted dot product
  unwritten_column,   ///< the row's last visible column
  row_sees_too_much,  ///< one hidden column holds its logit
  hidden_nan,         ///< a NaN of other bits in the first hidden column
};

/// Which of the contract's freedoms a run takes.
struct mqa_style {
  int factors = 0;  ///< 0: (w r) s, 1: (s w) r, 2: (s r) w, 3: s times the sum
  int order = 0;    ///< of sums: 0 one by one, 1 by pairs, 2 shuffled by pairs, 3 positive terms first, 4 its reverse
  bool fuses = false;   ///< the last product before a sum is not rounded
  bool drifts = false;  ///< roundings and atoms go as far as their models let them, not to the nearest
};

class mqa_scalar_kernel {
 public:
  mqa_scalar_kernel(const setting& s, const contract& c, mqa_style style, std::uint64_t seed,
                    mqa_fault planted = mqa_fault::none)
      : p_(s.stated), in_(s), c_(c), style_(style), random_(seed), fault_(planted) {}

  memory run(std::int32_t row_margin = 0) {
    const memory logits = make_logits(p_, row_margin);
    for (std::int64_t row = 0; row < p_.total_q; ++row)
      for (std::int64_t column = 0; column < p_.max_model_len; ++column) write(logits, row, column);
    return logits;
  }

  /// Most roundings that a term of the runs so far has passed through: what the contract is to declare.
  std::int32_t most_roundings() const { return most_roundings_; }

 private:
  struct partial {
    double value;
    std::int32_t roundings;
  };
  static constexpr double unit = 0x1p-24;

  void write(const memory& logits, std::int64_t row, std::int64_t column) {
    const std::int64_t at = logits.view.offset(row, column);
    const bool is_seen = in_.is_visible(row, column), is_last = is_seen && !in_.is_visible(row, column + 1);
    const bool is_first_hidden = !is_seen && (column == 0 || in_.is_visible(row, column - 1));
    if (fault_ == mqa_fault::unwritten_column && is_last) return;
    const bool takes_left = (fault_ == mqa_fault::columns_shifted && is_seen) ||
                            (fault_ == mqa_fault::row_sees_too_much && is_first_hidden);
    if (takes_left && column > 0) {
      logits.set(at, logit(row, column - 1));
    } else if (is_seen) {
      logits.set(at, logit(row, column));
    } else if (fault_ == mqa_fault::hidden_nan && is_first_hidden) {
      logits.set_bits(at, 0x7FC00000U);
    } else if (p_.fills_hidden != 0) {
      logits.set(at, -std::numeric_limits<double>::infinity());
    }
  }

  /// One f32 rounding: to nearest, or to a number within 2^-24 |x| on a side of its choice. The last one of a logit is
  /// to nearest, wherever the others went.
  double f32(double x, bool is_last = false) {
    const double nearest = static_cast<float>(x);
    if (!style_.drifts || is_last || nearest == x) return nearest;
    const double end = x + (random_() % 2 == 0 ? unit : -unit) * std::fabs(x);
    auto there = static_cast<float>(end);
    if (std::fabs(static_cast<double>(there) - x) > unit * std::fabs(x))
      there = std::nextafter(there, static_cast<float>(x));
    return std::fabs(static_cast<double>(there) - x) <= unit * std::fabs(x) ? static_cast<double>(there) : nearest;
  }

  double atom(double acc, const std::vector<double>& products) {
    long double sum = acc;
    double largest = std::fabs(acc);
    for (const double x : products) {
      sum += x;
      largest = std::max(largest, std::fabs(x));
    }
    const auto exact = static_cast<double>(sum);
    if (!style_.drifts || largest == 0) return static_cast<float>(exact);
    const double aligned =
        static_cast<double>(c_.qk.alignment_terms) * std::ldexp(1.0, std::ilogb(largest) - c_.qk.alignment_bits);
    const double side = random_() % 2 == 0 ? 1.0 : -1.0;
    if (c_.qk.result_roundoff <= 0x1p-24F) return static_cast<float>(exact + side * aligned);
    // The f32 number nearest to the model's end, on its inner side.
    const double end = exact + side * (aligned + static_cast<double>(c_.qk.result_roundoff) * std::fabs(exact));
    auto there = static_cast<float>(end);
    if ((static_cast<double>(there) - end) * side > 0) there = std::nextafter(there, static_cast<float>(exact));
    return (static_cast<double>(there) - exact) * side >= 0 ? static_cast<double>(there) : static_cast<float>(exact);
  }

  double dot(std::int64_t row, std::int64_t head, std::int64_t pool_row) {
    double acc = 0;
    for (std::int64_t d = 0; d < p_.head_dim_qk; d += c_.qk.products) {
      std::vector<double> products;
      for (std::int64_t i = d; i < std::min<std::int64_t>(d + c_.qk.products, p_.head_dim_qk); ++i) {
        const bool is_misread = fault_ == mqa_fault::plain_order;
        const std::int64_t tiles = p_.head_dim_qk / 16, slot = pool_row % p_.page_size,
                           flat = slot * p_.head_dim_qk + i;
        const std::int64_t tile = flat / 256;  // what lies where a plain key would
        const double k =
            is_misread ? in_.k(pool_row - slot + tile / tiles * 16 + flat % 256 / 16, tile % tiles * 16 + flat % 16)
                       : in_.k(pool_row, i);
        products.push_back(in_.q(row, head, i) * k);
      }
      acc = atom(acc, products);
    }
    return acc;
  }

  /// The factors of a term before the sum; where the style fuses, the last product is exact and rounded by the sum.
  partial term(double w, double r, double s, bool is_alone) {
    if (style_.factors == 3) return product(w, r, 0, false);
    const double first = f32(style_.factors == 0 ? w * r : style_.factors == 1 ? s * w : s * r);
    return product(first, style_.factors == 0 ? s : style_.factors == 1 ? r : w, 1, is_alone);
  }
  partial product(double a, double b, std::int32_t roundings, bool is_last) {
    return style_.fuses ? partial{a * b, roundings} : partial{f32(a * b, is_last), roundings + 1};
  }
  partial add(const partial& a, const partial& b, bool is_last) {
    const long double sum = static_cast<long double>(a.value) + static_cast<long double>(b.value);
    return {f32(static_cast<double>(sum), is_last && style_.factors != 3), std::max(a.roundings, b.roundings) + 1};
  }

  partial sum_of(std::vector<partial> terms) {
    if (style_.order >= 3)
      std::ranges::sort(terms, [&](const partial& a, const partial& b) {
        return style_.order == 3 ? a.value > b.value : a.value < b.value;
      });
    if (style_.order == 2)
      for (std::size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[random_() % i]);
    if (terms.empty()) return {0, 0};
    if (style_.order == 0 || style_.fuses) {
      // A chain: fused sums have the accumulator as addend, from 0 on.
      partial total = style_.fuses ? add({0, 0}, terms[0], terms.size() == 1) : terms[0];
      for (std::size_t i = 1; i < terms.size(); ++i) total = add(total, terms[i], i + 1 == terms.size());
      return total;
    }
    while (terms.size() > 1) {
      std::vector<partial> next;
      for (std::size_t i = 0; i < terms.size(); i += 2)
        next.push_back(i + 1 < terms.size() ? add(terms[i], terms[i + 1], terms.size() == 2) : terms[i]);
      terms = std::move(next);
    }
    return terms[0];
  }

  struct head_value {
    double weight, relu;
  };

  /// As the contract says it, word by word.
  double in_stated_order(const std::vector<head_value>& heads, float scale) const {
    std::vector<float> sums(static_cast<std::size_t>(c_.head_rows));
    for (std::size_t h = 0; h < heads.size(); ++h) {
      float& sum = sums[h % sums.size()];
      const auto w = static_cast<float>(heads[h].weight), r = static_cast<float>(heads[h].relu);
      if (c_.fuses_logits != 0) {
        sum = std::fma(w, r, sum);
      } else {
        const volatile float product = w * r;
        sum += product;
      }
    }
    for (const std::int32_t stride : c_.head_tree) {
      const auto step = static_cast<std::size_t>(stride);
      for (std::size_t r = 0; step > 0 && r + step < sums.size(); ++r)
        if ((r & step) == 0) sums[r] += sums[r + step];  // of rows joined before, what is made of them is not looked at
    }
    return sums[0] * scale;
  }

  double logit(std::int64_t row, std::int64_t column) {
    const std::int64_t seq = row / p_.max_q;
    std::int64_t pool_row = in_.pool_row(seq, column);
    if (fault_ == mqa_fault::wrong_page && column >= p_.page_size) pool_row = in_.pool_row(seq, column - p_.page_size);
    const std::int64_t neighbour = column > 0 ? column - 1 : column + 1;
    const double s = in_.scale(fault_ == mqa_fault::next_keys_scale ? in_.pool_row(seq, neighbour) : pool_row);
    std::vector<head_value> all, live;  // zeros add nothing in any order
    double signed_sum = 0;
    for (std::int64_t head = 0; head < p_.heads_q; ++head) {
      if (fault_ == mqa_fault::head_missing && head == p_.heads_q - 1) continue;
      const double a = dot(row, head, pool_row), w = in_.weight(row, head);
      signed_sum += s * w * a;
      head_value h{w, a > 0 ? a : 0};
      if (fault_ == mqa_fault::weight_inside) h = {1, std::max(0.0, w * a)};
      all.push_back(h);
      if (h.weight != 0 && h.relu != 0) live.push_back(h);
    }
    if (fault_ == mqa_fault::relu_after_sum) return static_cast<float>(std::max(0.0, signed_sum));
    if (c_.head_rows > 0) return in_stated_order(all, static_cast<float>(s));
    std::vector<partial> terms;
    terms.reserve(live.size());
    for (const head_value& h : live) terms.push_back(term(h.weight, h.relu, s, live.size() == 1));
    partial total = sum_of(std::move(terms));
    if (style_.factors == 3) total = {f32(total.value * s, true), total.roundings + 1};
    most_roundings_ = std::max(most_roundings_, total.roundings);
    return total.value;
  }

  const problem& p_;
  mqa_reader in_;
  const contract& c_;
  mqa_style style_;
  std::mt19937_64 random_;
  mqa_fault fault_;
  std::int32_t most_roundings_ = 0;
};

}  // namespace assay::testing
