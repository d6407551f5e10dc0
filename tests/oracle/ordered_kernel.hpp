/// Attention in plain scalar f32 code, in the orders that kernels compute in. Each order is one loop of its own; with a
/// fault planted it breaks one rule. Shares no code with the oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/setting.hpp"

namespace assay::testing {

enum class order {
  ascending,   ///< online softmax, tiles of 64
  descending,  ///< the same from the last tile
  waves,       ///< four states, each of blocks of 16 keys, interleaved; merged once
  tokens,      ///< three splits by tokens, tiles of 32, normalised partials, combined by LSE
  two_pass,    ///< the maximum first, then exp, natural
  normalised,  ///< as two_pass, but P is divided by its sum before it is rounded
};
inline constexpr order orders[] = {order::ascending, order::descending, order::waves,
                                   order::tokens,    order::two_pass,   order::normalised};
inline const char* name_of(order o) {
  static constexpr const char* names[] = {"ascending", "descending", "waves", "tokens", "two_pass", "normalised"};
  return names[static_cast<int>(o)];
}

enum class residual_fault {
  none,
  stale_v_descale,  ///< V of one page is 1.7% too large
  stale_k_descale,  ///< K of one page is 1.7% too large
  wrong_page,       ///< one page is read in place of the one before it
  dropped_key,
  doubled_key,
  missing_rescale,  ///< ascending: O and the sum are not rescaled in the third tile
  unscaled_wave,    ///< waves: one state is merged as if it had the common maximum
  lost_wave,        ///< waves: one state is not merged
  one_key_more,     ///< causal mask off by one
  one_key_less,     ///< ditto
  wrong_v_scale,    ///< all of V is 1% too large
  nan_output,
};
inline const char* name_of(residual_fault f) {
  static constexpr const char* names[] = {"none",        "stale_v_descale", "stale_k_descale", "wrong_page",
                                          "dropped_key", "doubled_key",     "missing_rescale", "unscaled_wave",
                                          "lost_wave",   "one_key_more",    "one_key_less",    "wrong_v_scale",
                                          "nan_output"};
  return names[static_cast<int>(f)];
}

/// What is wrong in the LSE, and in it alone.
enum class lse_fault {
  none,
  heavy_page,      ///< one page counts 1.7% too much
  lost_last_key,   ///< the last visible key does not count
  heavy_last_key,  ///< it counts 30% too much
  hidden_key,      ///< the one behind it counts
  heavy_wave,      ///< one of four interleaved shares of 16 keys counts 1.7% too much
};
/// What a sound kernel's LSE may be.
enum class lse_manner { plain, biased, half, bfloat, base_2, with_epsilon };

struct ordered_options {
  order in = order::ascending;
  dtype p_type = dtype::f32;
  float p_scale = 1;           ///< P is multiplied by it before it is rounded
  bool sums_rounded = false;   ///< the sum is of rounded P
  bool half_partials = false;  ///< tokens: partials are bf16
  bool half_values = false;    ///< V times v_scale is rounded to bf16
  residual_fault planted = residual_fault::none;
  lse_fault of_lse = lse_fault::none;
  lse_manner lse = lse_manner::plain;
  bool half_keys = false;   ///< K times k_scale is rounded to bf16
  bool half_scale = false;  ///< the scale is rounded to f16
};

/// The nearest number of a type, ties to even.
inline float rounded_to(dtype type, float x) {
  switch (type) {
    case dtype::f16: return static_cast<float>(static_cast<_Float16>(x));
    case dtype::bf16: return std::bit_cast<float>(encode(dtype::bf16, static_cast<double>(x)) << 16);
    case dtype::e4m3fn: {
      if (x == 0) return 0;
      const int exponent = std::max(std::ilogb(x), -6);
      return std::min(448.0F, std::ldexp(std::nearbyint(std::ldexp(x, 3 - exponent)), exponent - 3));
    }
    case dtype::i8: return std::nearbyint(x * 127) / 127;
    default: return x;
  }
}

class ordered_kernel {
 public:
  ordered_kernel(const setting& s, const ordered_options& how) : p_(s.stated), s_(s), how_(how) {}

  memory run() { return run_with_lse().first; }
  /// o and lse.
  std::pair<memory, memory> run_with_lse() {
    memory o("o", p_.o_type, {p_.total_q, p_.heads_q, p_.head_dim_v}), lse("lse", dtype::f32, {p_.total_q, p_.heads_q});
    dims_ = static_cast<std::size_t>(p_.head_dim_v);
    for (std::int32_t seq = 0; seq < p_.num_seqs; ++seq)
      for (std::int64_t head = 0; head < p_.heads_q; ++head) {
        if (head % (p_.heads_q / p_.heads_kv) == 0) load_keys(seq, head / (p_.heads_q / p_.heads_kv));
        const auto first = static_cast<std::int64_t>(element("cu_seqlens_q", seq));
        const auto rows = static_cast<std::int64_t>(element("cu_seqlens_q", seq + 1)) - first;
        sink_ = has("sinks") ? static_cast<float>(element("sinks", head)) : -std::numeric_limits<float>::infinity();
        for (std::int64_t i = 0; i < rows; ++i) {
          score(first + i, i, rows, head);
          const std::vector<float> result = row();
          lse.set(lse.view.offset(first + i, head), static_cast<double>(stored_lse()));
          for (std::size_t d = 0; d < dims_; ++d)
            o.set(o.view.offset(first + i, head, static_cast<std::int64_t>(d)), static_cast<double>(result[d]));
        }
      }
    if (how_.planted == residual_fault::nan_output) o.set(1, std::nan(""));
    return {o, lse};
  }

 private:
  struct state {
    float m = -std::numeric_limits<float>::infinity(), l = 0;
    std::vector<float> o;
  };

  double element(const char* name, std::int64_t offset) const {
    const memory& m = s_[name];
    std::uint32_t bits = 0;
    std::memcpy(&bits, m.bytes->data() + offset * size_bytes(m.view.type),
                static_cast<std::size_t>(size_bytes(m.view.type)));
    switch (m.view.type) {
      case dtype::f16: return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
      case dtype::bf16: return static_cast<double>(std::bit_cast<float>(bits << 16));
      case dtype::f32: return static_cast<double>(std::bit_cast<float>(bits));
      case dtype::i32: return static_cast<std::int32_t>(bits);
      case dtype::i8: return static_cast<std::int8_t>(bits);
      default: return e4m3_value(bits, m.view.type == dtype::e4m3fnuz);
    }
  }
  bool has(const char* name) const {
    return std::any_of(s_.buffers.begin(), s_.buffers.end(), [&](const memory& m) { return m.name == name; });
  }

  void load_keys(std::int32_t seq, std::int64_t head) {
    const auto n = static_cast<std::int64_t>(element("seqlens_k", seq));
    keys_.assign(static_cast<std::size_t>(n), {});
    values_ = keys_;
    const memory &k = s_["k"], &v = s_["v"], &table = s_["block_table"];
    const bool scaled = has("v_descale");
    for (std::int64_t key = 0; key < n; ++key) {
      std::int64_t nth = key / p_.page_size;
      const bool is_struck = nth == struck_page();
      if (is_struck && how_.planted == residual_fault::wrong_page) nth += nth > 0 ? -1 : 1;
      const auto page = static_cast<std::int64_t>(element("block_table", table.view.offset(seq, nth)));
      const std::int64_t slot = key % p_.page_size;
      float kd = 1, vd = 1;
      if (scaled) {
        kd = static_cast<float>(element("k_descale", page * p_.heads_kv + head));
        vd = static_cast<float>(element("v_descale", page * p_.heads_kv + head));
      }
      if (is_struck && how_.planted == residual_fault::stale_k_descale) kd *= 1.017F;
      if (is_struck && how_.planted == residual_fault::stale_v_descale) vd *= 1.017F;
      if (how_.planted == residual_fault::wrong_v_scale) vd *= 1.01F;
      auto &to_k = keys_[static_cast<std::size_t>(key)], &to_v = values_[static_cast<std::size_t>(key)];
      for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
        to_k.push_back(key_element(kd * static_cast<float>(element("k", k.view.offset(page, slot, head, d)))));
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) {
        const float x = vd * p_.v_scale * static_cast<float>(element("v", v.view.offset(page, slot, head, d)));
        to_v.push_back(how_.half_values ? rounded_to(dtype::bf16, x) : x);
      }
    }
  }
  /// With half_keys it holds k_scale already.
  float key_element(float x) const { return how_.half_keys ? rounded_to(dtype::bf16, x * p_.k_scale) : x; }
  std::int64_t struck_page() const { return 1; }

  /// Logits of the row's visible keys.
  void score(std::int64_t row, std::int64_t i, std::int64_t rows, std::int64_t head) {
    const auto n = static_cast<std::int64_t>(keys_.size());
    begin_ = 0;
    end_ = p_.causal != 0 ? std::min(n, n - rows + i + 1) : n;
    if (p_.window > 0) begin_ = std::max<std::int64_t>(0, n - rows + i - p_.window + 1);
    if (how_.planted == residual_fault::one_key_more) end_ = std::min(n, end_ + 1);
    if (how_.planted == residual_fault::one_key_less) end_ -= 1;
    std::vector<float> q(static_cast<std::size_t>(p_.head_dim_qk));
    for (std::int64_t d = 0; d < p_.head_dim_qk; ++d)
      q[static_cast<std::size_t>(d)] = static_cast<float>(element("q", s_["q"].view.offset(row, head, d)));
    x_.assign(static_cast<std::size_t>(n), -std::numeric_limits<float>::infinity());
    float scale = p_.scale * p_.q_scale * (how_.half_keys ? 1 : p_.k_scale);
    if (how_.half_scale) scale = rounded_to(dtype::f16, scale);
    const std::int64_t struck = begin_ + (end_ - begin_) / 3;
    hidden_.reset();
    for (std::int64_t key = begin_; key < std::min(n, end_ + 1); ++key) {
      if (key == struck && how_.planted == residual_fault::dropped_key) continue;
      const std::vector<float>& k = keys_[static_cast<std::size_t>(key)];
      float lanes[8] = {};
      for (std::size_t d = 0; d < k.size(); ++d) lanes[d % 8] += q[d] * k[d];
      float sum = 0;
      for (const float lane : lanes) sum += lane;
      float x = scale * sum;
      if (p_.soft_cap > 0) x = p_.soft_cap * std::tanh(x / p_.soft_cap);
      // Twice the weight is a key that was read twice.
      if (key == struck && how_.planted == residual_fault::doubled_key) x += 0.69314718F;
      if (key < end_)
        x_[static_cast<std::size_t>(key)] = x;
      else
        hidden_ = x;
    }
  }

  /// What the faulty keys add to 1.
  double faulty_share() const {
    const auto share = [&](std::int64_t key) {
      return std::exp(static_cast<double>(x_[static_cast<std::size_t>(key)]) - static_cast<double>(lse_));
    };
    double sum = 0;
    switch (how_.of_lse) {
      case lse_fault::none: break;
      case lse_fault::heavy_page:
        for (std::int64_t key = begin_; key < end_; ++key) sum += key / p_.page_size == 1 ? 0.017 * share(key) : 0;
        break;
      case lse_fault::lost_last_key: return -share(end_ - 1);
      case lse_fault::heavy_last_key: return 0.3 * share(end_ - 1);
      case lse_fault::hidden_key: return hidden_ ? std::exp(static_cast<double>(*hidden_ - lse_)) : 0;
      case lse_fault::heavy_wave:
        for (std::int64_t key = begin_; key < end_; ++key) sum += key / 16 % 4 == 2 ? 0.017 * share(key) : 0;
    }
    return sum;
  }
  float stored_lse() const {
    const float lse = lse_ + static_cast<float>(std::log1p(faulty_share()));
    switch (how_.lse) {
      case lse_manner::biased: return lse + 1e-3F;
      case lse_manner::half: return rounded_to(dtype::f16, lse);
      case lse_manner::bfloat: return rounded_to(dtype::bf16, lse);
      case lse_manner::base_2: return lse * 1.44269504F;
      case lse_manner::with_epsilon: {
        const float most = *std::max_element(x_.begin() + begin_, x_.begin() + end_);
        return lse + 1e-3F * std::exp(most - lse);
      }
      default: return lse;
    }
  }

  float quantised(float p) const { return rounded_to(how_.p_type, p * how_.p_scale) / how_.p_scale; }

  /// No keys yet, and the sink, to which P is relative until a key's logit exceeds it.
  state beside_sink() const {
    return {sink_, sink_ == -std::numeric_limits<float>::infinity() ? 0.0F : 1.0F, std::vector<float>(dims_)};
  }

  /// Online softmax over keys for which `is_mine`, a tile.
  template <class IsMine>
  void tile(state& s, std::int64_t first, std::int64_t last, bool rescales, IsMine is_mine) const {
    float most = s.m;
    for (std::int64_t key = first; key < last; ++key)
      if (is_mine(key)) most = std::max(most, x_[static_cast<std::size_t>(key)]);
    if (most == -std::numeric_limits<float>::infinity()) return;
    constexpr float log2_e = 1.44269504F;
    const float factor = rescales ? std::exp2((s.m - most) * log2_e) : 1;
    s.m = most;
    s.l *= factor;
    s.o.resize(dims_);
    for (float& o : s.o) o *= factor;
    for (std::int64_t key = first; key < last; ++key) {
      if (!is_mine(key)) continue;
      const float p = std::exp2((x_[static_cast<std::size_t>(key)] - most) * log2_e), rounded = quantised(p);
      s.l += how_.sums_rounded ? rounded : p;
      const float* const v = values_[static_cast<std::size_t>(key)].data();
      for (std::size_t d = 0; d < dims_; ++d) s.o[d] += rounded * v[d];
    }
  }

  std::vector<float> finish(state s) {
    s.o.resize(dims_);
    for (float& o : s.o) o /= s.l;
    lse_ = s.m + std::log(s.l);
    return s.o;
  }

  std::vector<float> row() {
    constexpr std::int64_t keys = 64;
    const auto all = [](std::int64_t) { return true; };
    switch (how_.in) {
      case order::ascending: {
        state s = beside_sink();
        for (std::int64_t t = begin_ / keys * keys; t < end_; t += keys) {
          const bool is_struck = how_.planted == residual_fault::missing_rescale && t == 2 * keys;
          tile(s, std::max(t, begin_), std::min(t + keys, end_), !is_struck, all);
        }
        return finish(s);
      }
      case order::descending: {
        state s = beside_sink();
        for (std::int64_t t = (end_ - 1) / keys * keys; t > begin_ - keys; t -= keys)
          tile(s, std::max(t, begin_), std::min(t + keys, end_), true, all);
        return finish(s);
      }
      case order::waves: return by_waves();
      case order::tokens: return by_tokens();
      default: return in_two_passes();
    }
  }

  std::vector<float> by_waves() {
    state waves[4];
    waves[0] = beside_sink();
    float most = -std::numeric_limits<float>::infinity();
    for (int w = 0; w < 4; ++w) {
      for (std::int64_t t = begin_ / 64 * 64; t < end_; t += 64)
        tile(waves[w], std::max(t, begin_), std::min(t + 64, end_), true,
             [w](std::int64_t key) { return key / 16 % 4 == w; });
      most = std::max(most, waves[w].m);
    }
    state whole;
    whole.m = most;
    whole.o.resize(dims_);
    for (int w = 0; w < 4; ++w) {
      if (waves[w].o.empty() || (w == 1 && how_.planted == residual_fault::lost_wave)) continue;
      const bool is_struck = w == 1 && how_.planted == residual_fault::unscaled_wave;
      const float factor = is_struck ? 1 : std::exp(waves[w].m - most);
      whole.l += factor * waves[w].l;
      for (std::size_t d = 0; d < dims_; ++d) whole.o[d] += factor * waves[w].o[d];
    }
    return finish(whole);
  }

  std::vector<float> by_tokens() {
    const std::int64_t share = (end_ - begin_ + 2) / 3;
    std::vector<std::vector<float>> partials;
    std::vector<float> lse;
    for (std::int64_t first = begin_; first < end_; first += share) {
      state s = first == begin_ ? beside_sink() : state{};
      const std::int64_t last = std::min(first + share, end_);
      for (std::int64_t t = first; t < last; t += 32)
        tile(s, t, std::min(t + 32, last), true, [](std::int64_t) { return true; });
      if (s.o.empty()) continue;
      partials.push_back(finish(s));
      lse.push_back(lse_);
      for (float& o : partials.back()) o = how_.half_partials ? rounded_to(dtype::bf16, o) : o;
    }
    const float most = *std::max_element(lse.begin(), lse.end());
    state whole;
    whole.m = most;
    whole.o.resize(dims_);
    for (std::size_t n = 0; n < partials.size(); ++n) {
      const float weight = std::exp(lse[n] - most);
      whole.l += weight;
      for (std::size_t d = 0; d < dims_; ++d) whole.o[d] += weight * partials[n][d];
    }
    return finish(whole);
  }

  std::vector<float> in_two_passes() {
    const float most = std::max(sink_, *std::max_element(x_.begin() + begin_, x_.begin() + end_));
    std::vector<float> p(x_.size());
    float l = std::exp(sink_ - most);
    for (std::int64_t key = begin_; key < end_; ++key) {
      const auto at = static_cast<std::size_t>(key);
      l += p[at] = std::exp(x_[at] - most);
    }
    lse_ = most + std::log(l);
    std::vector<float> o(dims_);
    const bool is_divided = how_.in == order::normalised;
    for (std::int64_t key = begin_; key < end_; ++key) {
      const auto at = static_cast<std::size_t>(key);
      const float weight = is_divided ? quantised(p[at] / l) : quantised(p[at]);
      for (std::size_t d = 0; d < dims_; ++d) o[d] += weight * values_[at][d];
    }
    for (float& x : o) x = is_divided ? x : x / l;
    return o;
  }

  const problem& p_;
  const setting& s_;
  ordered_options how_;
  std::size_t dims_ = 0;
  std::vector<std::vector<float>> keys_, values_;  ///< of a sequence and kv head
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<float> x_;
  std::optional<float> hidden_;  ///< logit of the key behind the last visible one
  float sink_ = 0;               ///< of the present head; -inf: none
  float lse_ = 0;                ///< of the present row
};

}  // namespace assay::testing
