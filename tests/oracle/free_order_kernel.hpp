/// Attention kernels in plain f32 arithmetic that keep to no order: keys shuffled, dealt out to states (waves, splits),
/// each with an online or a two-pass softmax, merged pairwise in a random tree. They round as f32 hardware does, to
/// nearest, and as their traits say. Shares no code with the oracle.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "oracle/decode.hpp"
#include "tests/oracle/setting.hpp"

namespace assay::testing {

/// What such a kernel does beside the definition.
struct traits {
  bool two_pass = false;       ///< the maximum first, then the weights
  bool natural_exp = true;     ///< exp(x - m), or exp2 of base-2 logits
  bool merges_by_lse = false;  ///< partials are normalised, and weighed by exp(lse - max)
  std::int32_t states = 1;     ///< keys are dealt out to so many
  dtype p_type = dtype::f32;   ///< P is rounded to it
  bool normalises_p = false;   ///< P / l is rounded (two_pass, one state)
  dtype query_type = dtype::f32;
  dtype cache_type = dtype::f32;
  dtype product_type = dtype::f32;
  dtype partial_type = dtype::f32;  ///< of normalised partials
  float lag = 0;         ///< the reference moves only when the maximum is so much above it (natural logarithm)
  float epsilon = 0;     ///< added to l
  double wrong_key = 0;  ///< planted: relative error of the weight that key 3 of a row has in O
};

inline float rounded(dtype type, float x) {
  if (type == dtype::f16) return static_cast<_Float16>(x);
  if (type == dtype::tf32) return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFE000U);  // cut
  if (type == dtype::bf16) return std::bit_cast<float>(encode(dtype::bf16, static_cast<double>(x)) << 16);
  if (type == dtype::e4m3fn || type == dtype::e4m3fnuz)
    return static_cast<float>(oracle::round_to_nearest(type, static_cast<double>(x)));
  return x;
}

class free_order_kernel {
 public:
  free_order_kernel(const setting& s, const traits& t, std::uint64_t seed)
      : s_(s), p_(s.stated), t_(t), random_(seed) {}

  std::vector<memory> run() {
    const memory o("o", p_.o_type, {p_.total_q, p_.heads_q, p_.head_dim_v}),
        lse("lse", dtype::f32, {p_.total_q, p_.heads_q});
    std::int64_t row = 0;
    for (std::int32_t seq = 0; seq < p_.num_seqs; ++seq) {
      const std::int64_t rows = integer("cu_seqlens_q", seq + 1) - integer("cu_seqlens_q", seq);
      for (std::int64_t i = 0; i < rows; ++i, ++row)
        for (std::int64_t head = 0; head < p_.heads_q; ++head) {
          const state whole = evaluate(seq, i, rows, row, head);
          const std::int64_t at = row * p_.heads_q + head;
          const float l = whole.l + (whole.l > 0 ? t_.epsilon : 0.0F);
          for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
            o.set(at * p_.head_dim_v + d, whole.l > 0 ? whole.o[static_cast<std::size_t>(d)] / l * p_.v_scale : 0.0F);
          const float m = t_.natural_exp ? whole.m : whole.m * 0.6931471805599453F;
          lse.set(at, whole.l > 0 ? m + std::log(whole.l) : -std::numeric_limits<float>::infinity());
        }
    }
    return {o, lse};
  }

 private:
  static constexpr float nothing = -std::numeric_limits<float>::infinity();
  struct state {
    float m = nothing, l = 0;
    bool is_partial = false;  ///< of keys alone: what a split writes
    std::vector<float> o;
  };
  struct term {
    float x;  ///< logit, to the base of the kernel
    std::vector<float> v;
    std::int64_t key;
  };

  std::int64_t integer(const char* name, std::int64_t at) const {
    std::int32_t value = 0;
    std::memcpy(&value, s_[name].bytes->data() + at * 4, 4);
    return value;
  }
  float number(const memory& m, std::int64_t at) const {
    std::uint32_t bits = 0;
    const auto size = static_cast<std::size_t>(size_bytes(m.view.type));
    std::memcpy(&bits, m.bytes->data() + static_cast<std::size_t>(at) * size, size);
    if (m.view.type == dtype::f16) return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    if (m.view.type == dtype::bf16) return std::bit_cast<float>(bits << 16);
    if (m.view.type == dtype::f32) return std::bit_cast<float>(bits);
    return static_cast<float>(e4m3_value(bits, m.view.type == dtype::e4m3fnuz));
  }
  float exponential(float x) const { return t_.natural_exp ? std::exp(x) : std::exp2(x); }

  term term_of(std::int32_t seq, std::int64_t row, std::int64_t head, std::int64_t key) {
    const std::int64_t head_kv = head / (p_.heads_q / p_.heads_kv);
    const std::int64_t page = integer("block_table", s_["block_table"].view.offset(seq, key / p_.page_size));
    const std::int64_t pool = (page * p_.page_size + key % p_.page_size) * p_.heads_kv + head_kv;
    const float scale = p_.scale * p_.q_scale * (t_.natural_exp ? 1.0F : 1.44269504F);
    // Two lanes with every other element, joined at the end.
    float lane[2] = {};
    for (std::int64_t d = 0; d < p_.head_dim_qk; ++d) {
      const float q = number(s_["q"], (row * p_.heads_q + head) * p_.head_dim_qk + d);
      const float k = number(s_["k"], pool * p_.head_dim_qk + d);
      const float scaled_q = rounded(t_.query_type, q * scale), scaled_k = rounded(t_.cache_type, k * p_.k_scale);
      lane[d % 2] = lane[d % 2] + scaled_q * scaled_k;
    }
    term made{lane[0] + lane[1], {}, key};
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
      made.v.push_back(rounded(t_.cache_type, number(s_["v"], pool * p_.head_dim_v + d)));
    return made;
  }

  void add(state& to, const term& k, float p) const {
    p = rounded(t_.p_type, p);
    if (k.key == 3) p += p * static_cast<float>(t_.wrong_key);
    for (std::size_t d = 0; d < to.o.size(); ++d) to.o[d] += rounded(t_.product_type, p * k.v[d]);
  }

  state of_keys(const std::vector<term>& keys) const {
    state s;
    s.o.assign(static_cast<std::size_t>(p_.head_dim_v), 0.0F);
    s.is_partial = true;
    if (t_.two_pass) {
      for (const term& k : keys) s.m = std::max(s.m, k.x);
      for (const term& k : keys) s.l += exponential(k.x - s.m);
      for (const term& k : keys) add(s, k, t_.normalises_p ? exponential(k.x - s.m) / s.l : exponential(k.x - s.m));
      if (t_.normalises_p)
        for (float& x : s.o) x *= s.l;
      return s;
    }
    for (const term& k : keys) {
      if (s.m == nothing || k.x > s.m + t_.lag) {
        const float factor = s.m == nothing ? 0 : exponential(s.m - k.x);
        s.l *= factor;
        for (float& x : s.o) x *= factor;
        s.m = k.x;
      }
      const float p = exponential(k.x - s.m);
      s.l += p;
      add(s, k, p);
    }
    return s;
  }

  float partial(const state& s, float x) const { return s.is_partial ? rounded(t_.partial_type, x) : x; }

  state merged(const state& a, const state& b) const {
    if (a.m == nothing) return b;
    if (b.m == nothing) return a;
    state s;
    if (t_.merges_by_lse) {
      const auto log_of = [&](const state& x) { return x.m + (t_.natural_exp ? std::log(x.l) : std::log2(x.l)); };
      const float la = log_of(a), lb = log_of(b), top = std::max(la, lb);
      const float wa = exponential(la - top), wb = exponential(lb - top);
      s.m = top;
      s.l = wa + wb;
      for (std::size_t d = 0; d < a.o.size(); ++d)
        s.o.push_back(wa * partial(a, a.o[d] / a.l) + wb * partial(b, b.o[d] / b.l));
      return s;
    }
    s.m = std::max(a.m, b.m);
    const float fa = exponential(a.m - s.m), fb = exponential(b.m - s.m);
    s.l = a.l * fa + b.l * fb;
    for (std::size_t d = 0; d < a.o.size(); ++d)
      s.o.push_back(partial(a, a.o[d] / a.l) * a.l * fa + partial(b, b.o[d] / b.l) * b.l * fb);
    return s;
  }

  state evaluate(std::int32_t seq, std::int64_t i, std::int64_t rows, std::int64_t row, std::int64_t head) {
    const std::int64_t keys = integer("seqlens_k", seq);
    std::vector<std::vector<term>> dealt(static_cast<std::size_t>(t_.states));
    for (const std::int64_t key : shuffled(keys, random_))
      if (p_.causal == 0 || key <= keys - rows + i)
        dealt[static_cast<std::size_t>(random_() % dealt.size())].push_back(term_of(seq, row, head, key));
    std::vector<state> states;
    states.reserve(dealt.size());
    for (const std::vector<term>& d : dealt) states.push_back(of_keys(d));
    while (states.size() > 1) {
      const std::size_t at = random_() % (states.size() - 1);
      states[at] = merged(states[at], states[at + 1]);
      states.erase(states.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return states.front();
  }

  const setting& s_;
  const problem& p_;
  traits t_;
  std::mt19937_64 random_;
};

}  // namespace assay::testing
