// Sound attention kernels in host code that compute in different orders, in f32: the judge must accept each of them,
// whatever it declares. ASSAY_ORDER chooses:
//   ascending, descending  a softmax that goes on from key to key, in the order of their positions or against it
//   waves                  four states with every fourth group of 16 keys each, merged once, P rounded to the type of V
//   tokens                 a state for each 53 keys, normalised, rounded to the type of O and joined by their LSEs
//   lost_wave              as waves, but for the last state, which is not merged: O and LSE are wrong
//   light_lse              as ascending, but in the LSE's sum every fourth group of 16 keys counts 1.7% too little
//   two_pass               the maximum first; dot products and sums in eight lanes, natural exponentials
// ASSAY_DECLARES=types: the contract names the types to which it rounds, and no order. Else it declares nothing.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/contract_recipes.hpp"
#include "kernels/library.h"
#include "tests/orders/elements.hpp"

namespace {

using namespace assay;
using namespace assay::orders;

constexpr float nothing = -std::numeric_limits<float>::infinity();
constexpr float log2_e = 1.44269504F;

std::string_view order() {
  const char* chosen = std::getenv("ASSAY_ORDER");
  return chosen == nullptr ? "ascending" : chosen;
}

/// What of a row's keys has been added up.
struct state {
  float m = nothing, l = 0;
  std::vector<float> o;
};

/// A row of a head, and its visible keys.
struct row_task {
  std::int64_t row, head, kv_head, sequence, first_key, end_key;
};

class attention {
 public:
  attention(const problem& p, const assay_tensor* tensors, std::int32_t count)
      : p_(p), t_(tensors, count), order_(order()) {}

  void run() const {
    for (std::int64_t s = 0, first = 0; s < p_.num_seqs; ++s) {
      const std::int64_t rows = p_.batching == q_batching::group
                                    ? integer(t_["cu_seqlens_q"], s + 1) - integer(t_["cu_seqlens_q"], s)
                                    : p_.max_q;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t h = 0; h < p_.heads_q; ++h) compute(task_of(s, first + i, i, rows, h));
      first += rows;
    }
  }

 private:
  row_task task_of(std::int64_t s, std::int64_t row, std::int64_t i, std::int64_t rows, std::int64_t h) const {
    const std::int64_t keys = integer(t_["seqlens_k"], s);
    const DLTensor* const offset = t_["prefix_offset"];
    const std::int64_t position = i + (offset != nullptr ? integer(offset, s) : keys - rows);
    row_task t{row, h, h / (p_.heads_q / p_.heads_kv), s, 0, keys};
    if (p_.causal != 0) t.end_key = std::min(keys, position + 1);
    if (p_.window > 0) t.first_key = std::max<std::int64_t>(0, position - p_.window + 1);
    return t;
  }

  std::int64_t page_of(const row_task& t, std::int64_t key) const {
    const std::int64_t entry = key / p_.page_size;
    if (p_.page_table == page_table_kind::block_table) return integer(t_["block_table"], t.sequence, entry);
    return integer(t_["page_indices"], integer(t_["page_indptr"], t.sequence) + entry);
  }
  float descale(const char* name, const row_task& t, std::int64_t key) const {
    return p_.kv_descale == descale_kind::per_tensor ? 1.0F : real(t_[name], page_of(t, key), t.kv_head);
  }

  /// In eight lanes, or one after the other.
  float dot(const row_task& t, std::int64_t key) const {
    const std::int64_t page = page_of(t, key), slot = key % p_.page_size;
    const std::size_t lanes = order_ == "two_pass" ? 8 : 1;
    float sums[8] = {};
    for (std::int64_t d = 0; d < p_.head_dim_qk; ++d) {
      float& sum = sums[static_cast<std::size_t>(d) % lanes];
      sum = std::fma(element(t_["q"], p_.q_type, t.row, t.head, d),
                     element(t_["k"], p_.k_type, page, slot, t.kv_head, d), sum);
    }
    for (std::size_t width = lanes / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    return sums[0];
  }

  float logit(const row_task& t, std::int64_t key) const {
    float x = dot(t, key) * (p_.scale * p_.q_scale * p_.k_scale) * descale("k_descale", t, key);
    if (p_.soft_cap > 0) x = p_.soft_cap * std::tanh(x / p_.soft_cap);
    if (p_.bias_type != dtype::none) x += element(t_["bias"], p_.bias_type, t.head, t.row, key);
    return x;
  }
  bool is_of_waves() const { return order_ == "waves" || order_ == "lost_wave"; }
  float exponential(float x) const { return order_ == "two_pass" ? std::exp(x) : std::exp2(x * log2_e); }

  void add(state& to, const row_task& t, std::int64_t key, float p) const {
    to.l += p;
    const std::int64_t page = page_of(t, key), slot = key % p_.page_size;
    const float rounded_p = is_of_waves() ? rounded(p_.v_type, p) : p;
    const float weight = rounded_p * descale("v_descale", t, key);
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
      to.o[static_cast<std::size_t>(d)] += weight * element(t_["v"], p_.v_type, page, slot, t.kv_head, d);
  }
  state none() const { return {nothing, 0, std::vector<float>(static_cast<std::size_t>(p_.head_dim_v))}; }

  static void rescale(state& s, float factor) {
    s.l *= factor;
    for (float& o : s.o) o *= factor;
  }
  /// A softmax that goes on, key by key.
  void go_on(state& s, const row_task& t, std::int64_t key) const {
    const float x = logit(t, key), top = std::max(s.m, x);
    if (top == nothing) return;
    if (top > s.m) rescale(s, s.m == nothing ? 0 : exponential(s.m - top));
    s.m = top;
    add(s, t, key, exponential(x - top));
  }
  void merge(state& s, const state& other) const {
    const float top = std::max(s.m, other.m);
    if (top == nothing) return;
    rescale(s, s.m == nothing ? 0 : exponential(s.m - top));
    const float factor = other.m == nothing ? 0 : exponential(other.m - top);
    s.l += factor * other.l;
    for (std::size_t d = 0; d < s.o.size(); ++d) s.o[d] += factor * other.o[d];
    s.m = top;
  }

  state of_waves(const row_task& t) const {
    std::vector<state> waves(4, none());
    for (std::int64_t key = t.first_key; key < t.end_key; ++key)
      go_on(waves[static_cast<std::size_t>(key / 16 % 4)], t, key);
    const std::size_t merged = order_ == "lost_wave" ? 3 : 4;
    for (std::size_t w = 1; w < merged; ++w) merge(waves[0], waves[w]);
    return waves[0];
  }
  state of_tokens(const row_task& t) const {
    constexpr std::int64_t tokens = 53;
    state all = none();
    for (std::int64_t first = t.first_key; first < t.end_key; first += tokens) {
      state part = none();
      for (std::int64_t key = first; key < std::min(first + tokens, t.end_key); ++key) go_on(part, t, key);
      if (part.l == 0) continue;
      for (float& o : part.o) o = rounded(p_.o_type, o / part.l);
      part.m += std::log(part.l), part.l = 1;
      merge(all, part);
    }
    return all;
  }
  state in_two_passes(const row_task& t) const {
    std::vector<float> x;
    for (std::int64_t key = t.first_key; key < t.end_key; ++key) x.push_back(logit(t, key));
    state s = none();
    for (const float each : x) s.m = std::max(s.m, each);
    if (s.m == nothing) return s;
    for (std::size_t i = 0; i < x.size(); ++i)
      add(s, t, t.first_key + static_cast<std::int64_t>(i), exponential(x[i] - s.m));
    return s;
  }
  state of_keys(const row_task& t) const {
    if (is_of_waves()) return of_waves(t);
    if (order_ == "tokens") return of_tokens(t);
    if (order_ == "two_pass") return in_two_passes(t);
    state s = none();
    if (order_ == "descending")
      for (std::int64_t key = t.end_key; key-- > t.first_key;) go_on(s, t, key);
    else
      for (std::int64_t key = t.first_key; key < t.end_key; ++key) go_on(s, t, key);
    return s;
  }

  void compute(const row_task& t) const {
    state s = of_keys(t);
    if (const DLTensor* const sinks = t_["sinks"]; sinks != nullptr)
      if (const float sink = real(sinks, t.head); sink != nothing) {
        state of_sink = none();
        of_sink.m = sink, of_sink.l = 1;
        merge(s, of_sink);
      }
    float sum = s.l;
    if (order_ == "light_lse")
      for (std::int64_t key = t.first_key; key < t.end_key; ++key)
        if (key / 16 % 4 == 3) sum -= 0.017F * exponential(logit(t, key) - s.m);
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
      store(t_["o"], p_.o_type, t.row, t.head, d, s.l > 0 ? s.o[static_cast<std::size_t>(d)] / s.l * p_.v_scale : 0);
    store(t_["lse"], dtype::f32, t.row, t.head, 0, s.l > 0 ? s.m + std::log(sum) : nothing);
  }

  const problem& p_;
  const tensors_by_name t_;
  const std::string_view order_;
};

assay_status plan(const problem*, std::int64_t, assay_plan* chosen) {
  *chosen = {1, 0};
  return {ASSAY_OK, {}};
}
assay_status declare(const problem* p, const assay_launch*, contract* declared) {
  *declared = in_any_order(*p);
  if (order() == "waves" || order() == "lost_wave") declared->p_type = p->v_type;
  if (order() == "tokens" && p->o_type != dtype::f32) declared->partial_type = p->o_type;
  return {ASSAY_OK, {}};
}
assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch*) {
  attention(*p, tensors, count).run();
  return {ASSAY_OK, {}};
}

assay_support support() {
  assay_support s{};
  s.size_bytes = sizeof s;
  std::size_t n = 0;
  for (const auto q : {ASSAY_TYPE_F16, ASSAY_TYPE_BF16})
    for (const auto kv : {q, ASSAY_TYPE_E4M3FN, ASSAY_TYPE_E4M3FNUZ, ASSAY_TYPE_E5M2, ASSAY_TYPE_E5M2FNUZ})
      s.types[n++] = {q, kv, q};
  for (const auto kv : {ASSAY_TYPE_F32, ASSAY_TYPE_F16, ASSAY_TYPE_E4M3FN})
    s.types[n++] = {ASSAY_TYPE_F32, kv, ASSAY_TYPE_F32};
  s.no_split_count = s.no_partials = s.no_workspace_budget = 1;
  s.no_live_nan = s.no_live_infinity = s.no_refusals = 1;
  s.no_extreme_scale = 1;
  return s;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const assay_library* assay_library_v1() {
  const char* const declares = std::getenv("ASSAY_DECLARES");
  const bool declares_types = declares != nullptr && std::string_view(declares) == "types";
  static const assay_kernel kernel{"split_kv", plan, declares_types ? declare : nullptr, run, nullptr};
  static const assay_library library = ASSAY_LIBRARY("cpu", &kernel, 1);
  return &library;
}

[[gnu::visibility("default")]] const assay_support* assay_support_v1(const char* kernel) {
  static const assay_support takes = support();
  return std::strcmp(kernel, "split_kv") == 0 ? &takes : nullptr;
}
}
