/// A kernel in plain scalar code that follows a contract and chooses at random among the roundings that it admits.
/// With a fault planted it breaks one rule. Shares no code with the oracle.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "tests/oracle/setting.hpp"

namespace assay::testing {

enum class fault {
  none,
  lse_in_base_2,
  wrong_page,
  swapped_head,
  missing_rescale,  ///< O is not rescaled where the maximum moves in the last tile
  stale_maximum,    ///< p of the last tile by the maximum before it
  dropped_key,      ///< the last visible key
  extra_zero_key,   ///< one key of logit 0 more
  v_scale_off,      ///< by one percent
  future_key,       ///< causal mask one too wide
  sink_per_split,   ///< every split counts the sink
  unweighted_combine,
  // Of descales per page: what a tile takes is that of the tile two after it or before it, as in a ring of two.
  early_k_descale,
  early_v_descale,
  early_descales,
  late_descales,
  missing_ratio,      ///< O stays in units of the v descale before
  unshifted_lse,      ///< m for the base
  unweighted_states,  ///< states are joined as if all had the same maximum
  lost_state,         ///< the last state is not joined
  truncated_p,        ///< P is rounded towards zero
};

/// How a kernel uses what the contract leaves open: anything, or its end above or below, or these in turn.
enum class bias { random, above, below, alternating };

class scalar_kernel {
 public:
  scalar_kernel(const setting& s, const contract& c, std::uint64_t seed, fault planted = fault::none,
                bias leaning = bias::random)
      : s_(s), p_(s.stated), c_(c), random_(seed), fault_(planted), leaning_(leaning) {}

  std::vector<memory> run() {
    const memory o("o", p_.o_type, {p_.total_q, p_.heads_q, p_.head_dim_v}),
        lse("lse", dtype::f32, {p_.total_q, p_.heads_q});
    const memory o_partial("o_partial", dtype::f32, {p_.num_splits, p_.total_q, p_.heads_q, p_.head_dim_v});
    const memory lse_partial("lse_partial", dtype::f32, {p_.num_splits, p_.total_q, p_.heads_q});
    choose_constants();
    for (std::int32_t seq = 0; seq < p_.num_seqs; ++seq)
      for (std::int64_t row = first_row(seq); row < first_row(seq + 1); ++row)
        for (std::int64_t head = 0; head < p_.heads_q; ++head) {
          const std::int64_t index = row * p_.heads_q + head;
          std::vector<split_result> splits;
          for (std::int32_t split = 0; split < p_.num_splits; ++split) {
            splits.push_back(run_split(seq, row, head, split));
            const std::int64_t at = split * p_.total_q * p_.heads_q + index;
            lse_partial.set(at, splits.back().lse);
            for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
              o_partial.set(at * p_.head_dim_v + d, splits.back().o[static_cast<std::size_t>(d)]);
          }
          const split_result whole = p_.num_splits == 1 ? splits[0] : combine(splits);
          const bool in_base_2 = (c_.base_of_lse == lse_base::two) != (fault_ == fault::lse_in_base_2);
          const bool is_plus = whole.lse == nothing && c_.lse_without_keys == empty_lse::plus_infinity;
          lse.set(index, is_plus ? -nothing : in_base_2 ? whole.lse * std::numbers::log2e : whole.lse);
          for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
            o.set(index * p_.head_dim_v + d, whole.o[static_cast<std::size_t>(d)]);
        }
    if (p_.num_splits == 1) return {o, lse};
    return {o, lse, o_partial, lse_partial};
  }

 private:
  struct split_result {
    std::vector<double> o;
    double lse;
  };
  static constexpr double unit = 0x1p-24;
  static constexpr double nothing = -std::numeric_limits<double>::infinity();

  bool has(const char* name) const {
    return std::any_of(s_.buffers.begin(), s_.buffers.end(), [&](const memory& m) { return m.name == name; });
  }
  std::int64_t first_row(std::int32_t seq) const {
    return has("cu_seqlens_q") ? static_cast<std::int64_t>(number("cu_seqlens_q", seq)) : std::int64_t{seq} * p_.max_q;
  }
  double number(const char* name, std::int64_t at) const { return element(name, at); }
  double element(const char* name, std::int64_t offset) const {
    const memory& m = s_[name];
    std::uint32_t bits = 0;
    std::memcpy(&bits, m.bytes->data() + offset * size_bytes(m.view.type),
                static_cast<std::size_t>(size_bytes(m.view.type)));
    switch (m.view.type) {
      case dtype::f16: return std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
      case dtype::bf16: return std::bit_cast<float>(bits << 16);
      case dtype::f32: return std::bit_cast<float>(bits);
      case dtype::i32: return static_cast<std::int32_t>(bits);
      case dtype::i8: return static_cast<std::int8_t>(bits);
      default: return e4m3_value(bits, m.view.type == dtype::e4m3fnuz);
    }
  }

  double uniform_in(double lo, double hi) {
    turn_ = !turn_;
    if (leaning_ == bias::random) return lo + (hi - lo) * uniform(random_);
    return leaning_ == bias::above || (leaning_ == bias::alternating && turn_) ? hi : lo;
  }

  /// An f32 number within `bound` of x: its neighbours below and above where they are near enough, else the nearest.
  double f32_near(double x, double bound) {
    auto t = static_cast<float>(uniform_in(x - bound, x + bound));
    if (std::fabs(static_cast<double>(t) - x) > bound) t = std::nextafter(t, static_cast<float>(x));
    return std::fabs(static_cast<double>(t) - x) <= bound ? static_cast<double>(t) : static_cast<float>(x);
  }
  double f32(double x, int times = 1) {
    for (int i = 0; i < times; ++i) x = f32_near(x, unit * std::fabs(x));
    return x;
  }
  /// A rounding of the fused path: to nearest, which leaves nothing open.
  double fused_f32(double x) { return c_.fuses_logits != 0 ? static_cast<float>(x) : f32(x); }
  double exp2_with_error(double d, double base_e = 1, double most = 1) {
    if (d == 0) return 1;
    const double exact = std::exp2(d * base_e), error = static_cast<double>(c_.exp2_relative_error);
    const double p = std::min(most, f32_near(exact, error * exact));
    return p < static_cast<double>(c_.exp2_flush) && random_() % 2 == 0 ? 0 : p;
  }
  double log_with_error(double l) {
    const double exact = std::log(l);
    return f32_near(exact, static_cast<double>(c_.log_absolute_error) +
                               static_cast<double>(c_.log_relative_error) * std::fabs(exact));
  }

  /// One matrix atom: exact sum, alignment and rounding errors drawn at random.
  double atom(const accumulation& model, double acc, const std::vector<double>& products) {
    long double sum = acc;
    double largest = std::fabs(acc);
    for (const double x : products) {
      sum += x;
      largest = std::max(largest, std::fabs(x));
    }
    const double exact = static_cast<double>(sum);
    const double aligned = largest == 0 ? 0
                                        : static_cast<double>(model.alignment_terms) *
                                              std::ldexp(1.0, std::ilogb(largest) - model.alignment_bits);
    if (model.result_roundoff <= 0x1p-24F) return static_cast<float>(uniform_in(exact - aligned, exact + aligned));
    return f32_near(exact, aligned + static_cast<double>(model.result_roundoff) * std::fabs(exact));
  }

  void choose_constants() {
    const double scale =
        static_cast<double>(p_.scale) * static_cast<double>(p_.q_scale) * static_cast<double>(p_.k_scale);
    // One rounding is the one to nearest; of several, others may have missed it.
    const auto constant = [&](double x) {
      return c_.constant_roundings == 1 ? static_cast<float>(x) : f32(x, c_.constant_roundings);
    };
    c1_ = constant(scale);
    c2_ = constant(scale * std::numbers::log2e);
    log2e_ = constant(std::numbers::log2e);
    ln2_ = constant(std::numbers::ln2);
  }

  std::int64_t page_of(std::int32_t seq, std::int64_t nth) {
    const bool is_list = p_.page_table == page_table_kind::page_list;
    return static_cast<std::int64_t>(
        is_list ? number("page_indices", static_cast<std::int64_t>(number("page_indptr", seq)) + nth)
                : number("block_table", s_["block_table"].view.offset(seq, nth)));
  }

  /// A descale of the tile's page; of another tile's, `apart` tiles away, where there is one.
  double descale(const char* name, std::int32_t seq, std::int64_t head_kv, std::int64_t tile, std::int64_t apart) {
    if (p_.kv_descale == descale_kind::per_tensor) return 1;
    const auto last = (static_cast<std::int64_t>(number("seqlens_k", seq)) - 1) / c_.tile_keys;
    const std::int64_t of = std::clamp<std::int64_t>(tile + apart, 0, last);
    return number(name, page_of(seq, of * c_.tile_keys / p_.page_size) * p_.heads_kv + head_kv);
  }
  double k_descale(std::int32_t seq, std::int64_t head_kv, std::int64_t tile) {
    const bool is_early = fault_ == fault::early_k_descale || fault_ == fault::early_descales;
    return descale("k_descale", seq, head_kv, tile, is_early ? 2 : fault_ == fault::late_descales ? -2 : 0);
  }
  double v_descale(std::int32_t seq, std::int64_t head_kv, std::int64_t tile) {
    const bool is_early = fault_ == fault::early_v_descale || fault_ == fault::early_descales;
    return descale("v_descale", seq, head_kv, tile, is_early ? 2 : fault_ == fault::late_descales ? -2 : 0);
  }

  /// Whether one of the rows that share a block with `row` sees a key at or behind the tile's first.
  bool is_visited(std::int32_t seq, std::int64_t row, std::int64_t tile) {
    const std::int64_t first = first_row(seq), block = (row - first) / c_.tile_rows;
    const auto keys = static_cast<std::int64_t>(number("seqlens_k", seq));
    for (std::int64_t r = first + block * c_.tile_rows;
         r < std::min(first + (block + 1) * c_.tile_rows, first_row(seq + 1)); ++r)
      for (std::int64_t key = tile * c_.tile_keys; key < keys; ++key)
        if (is_visible(seq, r, key)) return true;
    return false;
  }

  std::int64_t pool_row(std::int32_t seq, std::int64_t key, std::int64_t head_kv) {
    std::int64_t nth = key / p_.page_size;
    if (fault_ == fault::wrong_page && nth > 0) --nth;
    return (page_of(seq, nth) * p_.page_size + key % p_.page_size) * p_.heads_kv + head_kv;
  }

  bool is_visible(std::int32_t seq, std::int64_t row, std::int64_t key) const {
    const auto first = static_cast<double>(first_row(seq)), queries = static_cast<double>(first_row(seq + 1)) - first;
    const double keys = number("seqlens_k", seq), i = static_cast<double>(row) - first;
    double position = (has("prefix_offset") ? number("prefix_offset", seq) : keys - queries) + i;
    const auto j = static_cast<double>(key);
    if (fault_ == fault::future_key)
      return (p_.causal == 0 || j <= position + 1) && (p_.window == 0 || j > position - p_.window);
    return (p_.causal == 0 || j <= position) && (p_.window == 0 || j > position - p_.window);
  }

  /// Not rounded where the contract fuses it: the product of two f32 is exact.
  double logit(std::int64_t row, std::int64_t head, std::int64_t key, double dot, double kd) {
    const bool has_bias = p_.bias_type != dtype::none;
    const auto of_tile = [&](double constant) {
      return kd == 1 ? constant : static_cast<double>(static_cast<float>(constant * kd));
    };
    if (c_.fuses_logits != 0) return dot * of_tile(c2_);
    if (p_.soft_cap == 0.0F && !has_bias) return f32(dot * of_tile(c2_));
    double x = f32(dot * of_tile(c1_));
    if (p_.soft_cap > 0) {
      const double cap = p_.soft_cap, value = std::tanh(f32(x / cap));
      x = f32(cap * f32_near(value, static_cast<double>(c_.tanh_relative_error) * std::fabs(value)));
    }
    if (has_bias) x = f32(x + number("bias", s_["bias"].view.offset(head, row, key)));
    return f32(x * log2e_);
  }

  double dot(std::int64_t row, std::int64_t head, std::int64_t pool) {
    double acc = 0;
    const std::int64_t q = (row * p_.heads_q + head) * p_.head_dim_qk, k = pool * p_.head_dim_qk;
    for (std::int64_t d = 0; d < p_.head_dim_qk; d += c_.qk.products) {
      std::vector<double> products;
      for (std::int64_t i = d; i < std::min<std::int64_t>(d + c_.qk.products, p_.head_dim_qk); ++i)
        products.push_back(number("q", q + i) * number("k", k + i));
      if (p_.q_type == dtype::i8)
        for (const double x : products) acc += x;
      else
        acc = atom(c_.qk, acc, products);
    }
    return acc;
  }

  struct seen_key {
    std::int64_t key, pool;
    double y, p, code;
  };
  /// A row and head on its way through the tiles of a split.
  struct pass {
    std::int32_t seq;
    std::int64_t row, head, head_kv, keys, last_visible;
    std::vector<double> o;
    double m = nothing, l = 0;
    double v_descale = 0;  ///< of the last tile visited
  };

  split_result run_split(std::int32_t seq, std::int64_t row, std::int64_t head, std::int32_t split) {
    const auto keys = static_cast<std::int64_t>(number("seqlens_k", seq));
    const std::int64_t tiles = (keys + c_.tile_keys - 1) / c_.tile_keys;
    const std::int64_t planned =
        c_.splits == split_rule::of_longest ? (p_.max_k + c_.tile_keys - 1) / c_.tile_keys : tiles;
    const std::int64_t per_split = (planned + p_.num_splits - 1) / p_.num_splits;
    std::int64_t head_kv = head / (p_.heads_q / p_.heads_kv);
    if (fault_ == fault::swapped_head) head_kv = (head_kv + 1) % p_.heads_kv;
    pass one{seq, row, head, head_kv, keys, -1, std::vector<double>(static_cast<std::size_t>(p_.head_dim_v), 0.0)};
    for (std::int64_t key = 0; key < keys; ++key) one.last_visible = is_visible(seq, row, key) ? key : one.last_visible;
    std::vector<pass> states(static_cast<std::size_t>(c_.states), one);
    if (has("sinks") && (split == 0 || fault_ == fault::sink_per_split) && number("sinks", head) != nothing)
      start_from_sink(states[0]);
    const std::int64_t first = split * per_split, last = std::min((split + 1) * per_split, tiles);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t tile = c_.order == tile_order::descending ? last - 1 - (i - first) : i;
      visit(states[static_cast<std::size_t>(tile) % states.size()], tile);
    }
    return finished(joined(std::move(states)));
  }

  /// l and O of all states, by their weights, wave by wave; half of the time each product is rounded before it is
  /// added.
  pass joined(std::vector<pass> states) {
    if (fault_ == fault::lost_state && states.size() > 1) states.pop_back();
    // Lanes' parts of l: as far off as the roundings of their sums but one allow, and then rounded.
    for (pass& s : states)
      if (c_.sum_join_roundings > 0 && s.l != 1)
        s.l = f32(s.l * (1 + (random_() % 2 == 0 ? 1 : -1) * 0x1p-24 * 0.99 * (c_.sum_join_roundings - 1)));
    pass all = states[0];
    for (const pass& s : states) all.m = std::max(all.m, s.m);
    all.l = 0;
    std::ranges::fill(all.o, 0.0);
    bool is_first = true;
    for (const pass& s : states) {
      if (s.m == nothing) continue;
      const bool is_whole = s.m == all.m || fault_ == fault::unweighted_states;
      const double weight = is_whole ? 1 : exp2_with_error(f32(s.m - all.m));
      const bool is_fused = random_() % 2 == 0;
      const auto add = [&](double sum, double x) {
        const double product = is_fused || weight == 1 ? weight * x : f32(weight * x);
        return is_first ? (weight == 1 ? product : f32(product)) : f32(sum + product);
      };
      all.l = add(all.l, s.l);
      for (std::size_t d = 0; d < all.o.size(); ++d) all.o[d] = add(all.o[d], s.o[d]);
      is_first = false;
    }
    return all;
  }

  /// With a shift the contract does not say what l is; in units of 2^base the sink weighs exp2(m - base).
  void start_from_sink(pass& at) {
    at.m = f32(number("sinks", at.head) * log2e_);
    at.l = c_.p_shift == 0 ? 1 : exp2_with_error(fused_f32(at.m - base_of(at.m)), 1, 0x1p30);
  }

  std::vector<seen_key> seen_keys(const pass& at, std::int64_t tile) {
    std::vector<seen_key> seen;
    const double kd = k_descale(at.seq, at.head_kv, tile);
    for (std::int64_t key = tile * c_.tile_keys; key < std::min((tile + 1) * c_.tile_keys, at.keys); ++key) {
      if (!is_visible(at.seq, at.row, key) || (fault_ == fault::dropped_key && key == at.last_visible)) continue;
      const std::int64_t pool = pool_row(at.seq, key, at.head_kv);
      seen.push_back({key, pool, logit(at.row, at.head, key, dot(at.row, at.head, pool), kd), 0, 0});
    }
    return seen;
  }

  /// The v descale before over the tile's, which is that of `at` from now on.
  double descale_ratio(pass& at, std::int64_t tile) {
    double ratio = 1;
    const double now = v_descale(at.seq, at.head_kv, tile), before = std::exchange(at.v_descale, now);
    if (before != 0 && before != now) ratio = f32(before / now, std::min(1, c_.merge_roundings));
    return fault_ == fault::missing_ratio ? 1 : ratio;
  }

  void visit(pass& at, std::int64_t tile) {
    std::vector<seen_key> seen = seen_keys(at, tile);
    const bool has_descale =
        p_.kv_descale == descale_kind::per_page && (!seen.empty() || is_visited(at.seq, at.row, tile));
    const double ratio = has_descale ? descale_ratio(at, tile) : 1;
    if (seen.empty()) {
      rescale(at.o, ratio);
      return;
    }
    const bool is_last = at.last_visible / c_.tile_keys == tile;
    const double m = at.m;
    for (const seen_key& k : seen) at.m = std::max(at.m, c_.fuses_logits != 0 ? fused_f32(k.y) : k.y);
    const double alpha = at.m == m ? 1 : m == nothing ? 0 : exp2_with_error(fused_f32(m - at.m));
    const double base = base_of(fault_ == fault::stale_maximum && is_last && m != nothing ? m : at.m);
    const bool rounds =
        c_.least_rounded_maximum > 0.0F && std::fabs(at.m) >= static_cast<double>(c_.least_rounded_maximum);
    double sum = 0;
    for (seen_key& k : seen) {
      if (c_.fuses_logits != 0 && rounds) k.y = static_cast<float>(k.y);
      // Without shift and fusion y is at most m, and no exp2 makes more than 1 of that.
      k.p = exp2_with_error(fused_f32(k.y - base), 1, c_.fuses_logits != 0 || c_.p_shift != 0 ? 0x1p30 : 1);
      k.code = rounded_p(k.p);
      sum += k.p;
    }
    if (fault_ == fault::extra_zero_key && is_last) sum += std::exp2(-at.m);
    at.l = f32(at.l * alpha + sum, c_.sum_roundings);
    const double factor = ratio == 1 ? alpha : f32(alpha * ratio, std::max(0, c_.merge_roundings - 1));
    if (!(fault_ == fault::missing_rescale && is_last)) rescale(at.o, factor);
    add_values(at.o, tile, seen);
  }

  void rescale(std::vector<double>& o, double factor) {
    for (double& x : o)
      if (factor != 1) x = f32(x * factor);
  }

  void add_values(std::vector<double>& o, std::int64_t tile, const std::vector<seen_key>& seen) {
    for (std::int64_t first = 0; first < c_.tile_keys; first += c_.pv.products)
      for (std::size_t d = 0; d < o.size(); ++d) {
        std::vector<double> products;
        for (const seen_key& k : seen) {
          const std::int64_t at = k.key - tile * c_.tile_keys;
          if (at < first || at >= first + c_.pv.products) continue;
          products.push_back(k.code * number("v", k.pool * p_.head_dim_v + static_cast<std::int64_t>(d)));
        }
        o[d] = atom(c_.pv, o[d], products);
      }
  }

  split_result finished(pass at) {
    const double v_scale = static_cast<double>(p_.v_scale) * (fault_ == fault::v_scale_off ? 1.01 : 1.0);
    const double descale = at.v_descale == 0 ? 1 : at.v_descale;
    for (double& x : at.o) x = at.l > 0 ? f32(x * v_scale * descale / at.l, c_.normalise_roundings) : 0;
    const double base = fault_ == fault::unshifted_lse ? at.m : base_of(at.m);
    return {std::move(at.o), at.l > 0 ? f32(f32(base * ln2_) + log_with_error(at.l)) : nothing};
  }

  double base_of(double m) { return c_.p_shift == 0 ? m : fused_f32(m - c_.p_shift); }

  double rounded_p(double p) const {
    if (c_.p_type == dtype::f16) return static_cast<_Float16>(p);
    if (c_.p_type == dtype::bf16) return std::bit_cast<float>(encode(dtype::bf16, p) << 16);
    if (c_.p_type == dtype::f32 || p == 0) return p;
    const bool is_fnuz = c_.p_type == dtype::e4m3fnuz;
    const double quantum = std::ldexp(1.0, std::max(std::ilogb(p) - 3, is_fnuz ? -10 : -9));
    const double units = fault_ == fault::truncated_p ? std::floor(p / quantum) : std::nearbyint(p / quantum);
    return std::min(units * quantum, is_fnuz ? 240.0 : 448.0);
  }

  split_result combine(const std::vector<split_result>& splits) {
    double largest = nothing, total = 0;
    for (const split_result& s : splits) largest = std::max(largest, s.lse);
    split_result whole{std::vector<double>(splits[0].o.size(), 0.0), nothing};
    if (largest == nothing) return whole;
    for (const split_result& s : splits) {
      if (s.lse == nothing) continue;
      double w = exp2_with_error(f32(s.lse - largest), std::numbers::log2e);
      if (fault_ == fault::unweighted_combine) w = 1;
      total = f32(total + w);
      for (std::size_t d = 0; d < whole.o.size(); ++d) whole.o[d] = f32(whole.o[d] + f32(w * s.o[d]));
    }
    for (double& x : whole.o) x = f32(x / total, c_.normalise_roundings);
    whole.lse = f32(largest + log_with_error(total));
    return whole;
  }

  const setting& s_;
  const problem& p_;
  const contract& c_;
  std::mt19937_64 random_;
  fault fault_;
  bias leaning_;
  bool turn_ = false;
  double c1_ = 0, c2_ = 0, log2e_ = 0, ln2_ = 0;
};

inline std::vector<named_tensor> views(const std::vector<memory>& buffers) {
  std::vector<named_tensor> all;
  all.reserve(buffers.size());
  for (const memory& m : buffers) all.push_back({m.name.c_str(), m.view});
  return all;
}

}  // namespace assay::testing
