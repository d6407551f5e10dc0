#include "oracle/explain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "oracle/paging.hpp"
#include "oracle/states.hpp"
#include "oracle/tiles.hpp"

namespace assay::oracle {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();
constexpr double log2_e = 0x1.71547652b82fep+0;

/// All visible keys of the row, with logit and value, without probabilities.
std::vector<key_share> shares_of(const problem_view& view, std::int64_t seq, std::int64_t row, std::int64_t head,
                                 std::int64_t column, key_range keys) {
  const problem& p = view.stated();
  const std::int64_t head_kv = head / view.heads_per_group();
  std::vector<double> q(static_cast<std::size_t>(p.head_dim_qk)), k(q), v(static_cast<std::size_t>(p.head_dim_v));
  view.load_query(row, head, q.data());
  const double scale = static_cast<double>(p.scale) * static_cast<double>(p.q_scale) * static_cast<double>(p.k_scale);
  const double cap = p.soft_cap;
  std::vector<key_share> shares;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const key_place at = view.place(seq, key);
    view.load_key(at, head_kv, k.data());
    view.load_value(at, head_kv, v.data());
    const double k_descale = view.k_descale(at.page, head_kv), v_descale = view.v_descale(at.page, head_kv);
    double x = scale * k_descale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    if (cap > 0) x = cap * std::tanh(x / cap);
    if (view.has_bias()) x += view.bias(head, row, key);
    shares.push_back({key, at.page, at.slot, x, 0, v[static_cast<std::size_t>(column)], 0, k_descale, v_descale});
  }
  return shares;
}

/// A split's running state.
struct running {
  double maximum = nothing;
  double sum = 0;
  double output = 0;

  void take(double logit2, double value) {
    if (logit2 == nothing) return;
    if (logit2 > maximum) {
      const double alpha = std::exp2(maximum - logit2);
      sum *= alpha;
      output *= alpha;
      maximum = logit2;
    }
    const double p = std::exp2(logit2 - maximum);
    sum += p;
    output += p * value;
  }
};

}  // namespace

element_story explain_element(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                              std::int64_t row, std::int64_t head, std::int64_t column, int top) {
  if (row < 0 || row >= planned.total_q || head < 0 || head >= planned.heads_q || column < 0 ||
      column >= planned.head_dim_v)
    throw std::invalid_argument("oracle: no such output element");
  const problem_view view(planned, inputs);
  element_story story;
  story.sequence = view.sequence_of(row);
  story.row_in_sequence = row - view.first_row(story.sequence);
  story.head_kv = head / view.heads_per_group();
  const key_range keys = view.visible(story.sequence, story.row_in_sequence);
  story.visible_begin = keys.begin;
  story.visible_end = std::max(keys.begin, keys.end);
  story.sink = view.sink(head);

  std::vector<key_share> shares = shares_of(view, story.sequence, row, head, column, keys);
  double largest = story.sink;
  for (const key_share& s : shares) largest = std::max(largest, s.logit);
  story.lse = nothing;
  if (largest == nothing) return story;
  double z = std::exp(story.sink - largest);
  for (const key_share& s : shares) z += std::exp(s.logit - largest);
  story.lse = largest + std::log(z);
  const double v_scale = planned.v_scale;
  for (key_share& s : shares) {
    s.probability = std::exp(s.logit - largest) / z;
    s.contribution = s.probability * v_scale * s.v_descale * s.value;
    story.value += s.contribution;
  }

  const std::int64_t tile_keys = declared.tile_keys;
  const split_plan plan = plan_of(view, declared, story.sequence);
  const std::int64_t states_of_split = num_states(declared);
  std::vector<running> states(static_cast<std::size_t>(states_of_split));
  for (std::size_t at = 0; at < shares.size();) {
    tile_story t;
    t.tile = shares[at].key / tile_keys;
    t.split = plan.split_of(t.tile);
    t.first_key = shares[at].key;
    if (story.tiles.empty() || story.tiles.back().split != t.split) {
      std::ranges::fill(states, running{});
      if (t.split == 0 && story.sink != nothing) states.front().take(story.sink * log2_e, 0);
    }
    running& state = states[static_cast<std::size_t>(t.tile % states_of_split)];
    for (; at < shares.size() && shares[at].key / tile_keys == t.tile; ++at) {
      state.take(shares[at].logit * log2_e, shares[at].v_descale * shares[at].value);
      t.contribution += shares[at].contribution;
      t.keys.push_back(shares[at]);
    }
    t.end_key = t.keys.back().key + 1;
    t.maximum = state.maximum;
    t.sum = state.sum;
    t.output = state.sum > 0 ? state.output * v_scale / state.sum : 0;
    std::ranges::sort(t.keys, [](const key_share& a, const key_share& b) {
      const double x = std::fabs(a.contribution), y = std::fabs(b.contribution);
      return x != y ? x > y : a.key < b.key;
    });
    t.keys.resize(std::min(t.keys.size(), static_cast<std::size_t>(std::max(0, top))));
    story.tiles.push_back(std::move(t));
  }
  return story;
}

}  // namespace assay::oracle
