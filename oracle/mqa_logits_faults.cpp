/// The standard faults of mqa_logits, at some rows and columns of a case.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/decode.hpp"
#include "oracle/effects.hpp"
#include "oracle/encode.hpp"
#include "oracle/interval.hpp"
#include "oracle/paging.hpp"

namespace assay::oracle {
namespace {

/// A logit, in a form that faults can change.
struct faulty_logit {
  std::vector<double> dots;     ///< of each head, before ReLU
  std::vector<double> weights;  ///< of each head
  double key_scale = 1;
  bool relu_after_sum = false;

  double value() const {
    double sum = 0;
    for (std::size_t h = 0; h < dots.size(); ++h)
      sum += weights[h] * (relu_after_sum ? dots[h] : std::max(0.0, dots[h]));
    return key_scale * (relu_after_sum ? std::max(0.0, sum) : sum);
  }
};

struct place_in_case {
  std::int64_t seq = 0, i = 0, row = 0, key = 0;
};

struct attempt {
  const fault_setting& given;
  const problem_view& view;
  place_in_case at;
  dice& chance;

  std::size_t any_head() const { return static_cast<std::size_t>(chance.below(given.planned.heads_q)); }
  std::int64_t visible() const { return view.visible(at.seq, at.i).end; }
};

std::vector<double> dots_at(const attempt& a, std::int64_t row, key_place place) {
  const problem& p = a.given.planned;
  std::vector<double> key(static_cast<std::size_t>(p.head_dim_qk)), query(key), dots;
  a.view.load_key(place, 0, key.data());
  for (std::int64_t head = 0; head < p.heads_q; ++head) {
    a.view.load_query(row, head, query.data());
    dots.push_back(std::inner_product(query.begin(), query.end(), key.begin(), 0.0));
  }
  return dots;
}

faulty_logit right_logit(const attempt& a) {
  const key_place place = a.view.place(a.at.seq, a.at.key);
  faulty_logit logit{.dots = dots_at(a, a.at.row, place), .weights = {}};
  for (std::int64_t head = 0; head < a.given.planned.heads_q; ++head)
    logit.weights.push_back(a.view.weight(a.at.row, head));
  logit.key_scale = a.view.key_scale(place);
  return logit;
}

bool drop_head(const attempt& a, faulty_logit& l) {
  l.weights[a.any_head()] = 0;
  return true;
}

bool take_other_weight(const attempt& a, faulty_logit& l) {
  if (l.weights.size() < 2) return false;
  const std::size_t h = a.any_head();
  l.weights[h] = l.weights[(h + 1) % l.weights.size()];
  return true;
}

bool sum_before_relu(const attempt& /*a*/, faulty_logit& l) {
  l.relu_after_sum = true;
  return true;
}

std::int64_t neighbour(const attempt& a) {
  return a.at.key + 1 < a.visible() ? a.at.key + 1 : a.at.key - 1;
}

bool take_other_scale(const attempt& a, faulty_logit& l) {
  if (a.visible() < 2) return false;
  l.key_scale = a.view.key_scale(a.view.place(a.at.seq, neighbour(a)));
  return true;
}

bool take_other_key(const attempt& a, faulty_logit& l) {
  if (a.visible() < 2) return false;
  l.dots = dots_at(a, a.at.row, a.view.place(a.at.seq, neighbour(a)));
  return true;
}

bool swap_page(const attempt& a, faulty_logit& l) {
  const std::int64_t size = a.given.planned.page_size;
  const std::int64_t key = a.at.key + size < a.visible() ? a.at.key + size : a.at.key - size;
  if (key < 0) return false;
  const key_place place = a.view.place(a.at.seq, key);
  l.dots = dots_at(a, a.at.row, place);
  l.key_scale = a.view.key_scale(place);
  return true;
}

bool take_other_row(const attempt& a, faulty_logit& l) {
  const std::int64_t rows = a.view.row_count(a.at.seq);
  if (rows < 2) return false;
  const std::int64_t row = a.at.row - a.at.i + (a.at.i + 1) % rows;
  l.dots = dots_at(a, row, a.view.place(a.at.seq, a.at.key));
  return true;
}

bool misread_code(const attempt& a, faulty_logit& l) {
  const dtype type = a.given.planned.k_type;
  if (!is_fp8(type)) return false;
  std::vector<double> key(static_cast<std::size_t>(a.given.planned.head_dim_qk)), query(key);
  a.view.load_key(a.view.place(a.at.seq, a.at.key), 0, key.data());
  const auto d = static_cast<std::size_t>(a.chance.below(static_cast<std::int64_t>(key.size())));
  const double error = as_fp8_twin(type, key[d]) - key[d];
  for (std::size_t h = 0; h < l.dots.size(); ++h) {
    a.view.load_query(a.at.row, static_cast<std::int64_t>(h), query.data());
    l.dots[h] += query[d] * error;
  }
  return true;
}

struct logit_fault {
  standard_fault fault;
  bool (*apply)(const attempt& a, faulty_logit& logit);
};

constexpr logit_fault logit_faults[] = {
    {{"head_dropped", "one head is left out of the sum"}, drop_head},
    {{"weight_of_neighbour", "a head has the weight of the next one"}, take_other_weight},
    {{"relu_after_sum", "the sum over heads is cut at 0, not each head"}, sum_before_relu},
    {{"key_scale_of_neighbour", "a key has its neighbour's scale"}, take_other_scale},
    {{"key_swapped", "a column holds the dot products of its neighbour"}, take_other_key},
    {{"page_swapped", "a key is read from the neighbouring page"}, swap_page},
    {{"row_swapped", "the query row is the next one of the sequence"}, take_other_row},
    {{"k_code_misread", "one FP8 code of K is decoded as the other format"}, misread_code},
};

constexpr standard_fault key_dropped{"key_dropped", "the last visible column is not written, or hidden"};
constexpr standard_fault hidden_key_seen{"hidden_key_seen", "the first hidden column holds a logit"};
constexpr standard_fault truncated_output{"output_truncated", "logits are rounded toward zero", "", true};

std::vector<standard_fault> all_faults() {
  std::vector<standard_fault> all;
  for (const logit_fault& l : logit_faults) all.push_back(l.fault);
  for (const standard_fault& f : {key_dropped, hidden_key_seen, truncated_output}) all.push_back(f);
  return all;
}

const standard_fault* named(std::string_view name) {
  return &*std::ranges::find_if(mqa_logits_faults(), [&](const standard_fault& f) { return name == f.name; });
}

/// The column's effect on a result that the mask decides.
void append_mask_effects(const attempt& a, std::vector<fault_effect>& all) {
  const problem& p = a.given.planned;
  const std::int64_t begin = a.at.row * p.max_model_len, end = a.visible();
  const std::uint32_t hidden = p.fills_hidden != 0 ? encode(dtype::f32, -infinity) : 0xFFFFFFFFU;
  all.push_back({named(key_dropped.name), {{0, {{begin + end - 1, hidden}}}}});
  if (end < p.max_model_len)
    all.push_back({named(hidden_key_seen.name), {{0, {{begin + end, a.given.written.bits(0, begin + end - 1)}}}}});
}

/// At one column of a row.
void append_column_effects(const attempt& a, std::vector<fault_effect>& all) {
  const std::int64_t flat = a.at.row * a.given.planned.max_model_len + a.at.key;
  const faulty_logit right = right_logit(a);
  if (!std::isfinite(right.value())) return;
  for (const logit_fault& l : logit_faults) {
    faulty_logit faulty = right;
    if (!l.apply(a, faulty)) continue;
    all.push_back({named(l.fault.name), {{0, {a.given.written.shifted(0, flat, faulty.value() - right.value())}}}});
  }
}

void append_row_effects(const attempt& a, std::vector<fault_effect>& all) {
  fault_effect truncated{named(truncated_output.name), {{0, {}}}};
  const std::int64_t begin = a.at.row * a.given.planned.max_model_len;
  constexpr std::int64_t most_columns = 256;
  for (std::int64_t column = 0; column < std::min(a.visible(), most_columns); ++column)
    truncated.tensors[0].elements.push_back(a.given.written.truncated(0, begin + column, a.chance.one_in(2)));
  all.push_back(std::move(truncated));
}

}  // namespace

std::span<const standard_fault> mqa_logits_faults() {
  static const std::vector<standard_fault> all = all_faults();
  return all;
}

std::vector<fault_effect> mqa_logits_effects(const fault_setting& given) {
  const problem& p = given.planned;
  const problem_view view(p, given.inputs);
  std::vector<fault_effect> all;
  if (p.num_seqs == 0) return all;
  constexpr int rows = 2, tries = 12;
  for (int found = 0, tried = 0; found < rows && tried < tries; ++tried) {
    attempt a{given, view, {}, given.chance};
    a.at.seq = given.chance.below(p.num_seqs);
    if (view.row_count(a.at.seq) == 0) continue;
    a.at.i = given.chance.below(view.row_count(a.at.seq));
    a.at.row = view.first_row(a.at.seq) + a.at.i;
    const key_range visible = view.visible(a.at.seq, a.at.i);
    if (visible.empty()) continue;
    a.at.key = given.chance.below(visible.end);
    append_mask_effects(a, all);
    append_column_effects(a, all);
    append_row_effects(a, all);
    ++found;
  }
  return all;
}

}  // namespace assay::oracle
