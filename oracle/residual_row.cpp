#include "oracle/residual_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "oracle/clones.hpp"
#include "oracle/decode.hpp"

namespace assay::oracle {
namespace {

constexpr std::int64_t least_keys = 8, least_columns = 8;
/// 64 MiB of one sequence's and head's values.
constexpr std::int64_t most_values = std::int64_t{1} << 23;
/// A weight below this share of the largest: half of e4m3fn's least subnormal, and twice that, becomes 0 as a P that is
/// at most 1. Such keys may have this share of the energy: their lost part of r, the same in all rows, then is below
/// 2^-10 of sqrt(trace), where e4m3's rounding makes 2^-5 of it and other types lose nothing.
constexpr double light_weight = 0x1p-9, light_energy = 0x1p-20;
/// A sink is no term of o, so that keys far below it make all of o. Where P is relative to the sink, steps of P there
/// are too coarse to be noise, or P is 0, and of several states only one has the sink. Of a key these shares of the
/// sink's weight are 16 steps: of f16's P, and of e4m3fn's times 2^8. Sound kernels without that factor pass above it,
/// too (tests/oracle/residual_test.cpp).
constexpr double light_beside_sink = 0x1p-20, light_beside_sink_fp8 = 0x1p-13;
/// Hidden neighbours that weigh more are garbage.
constexpr double most_hidden_weight = 1024;
/// Less of the energy outside o's direction: the contributions are collinear.
constexpr double least_outside = 1.0 / 16;
/// Keys of nearly the same weight have the same rounding of P, all of a group of them, and that looks like a wrong
/// scale of the group. FP8 rounds in steps of 1/8 to 1/16: logits of a group must differ by this much RMS.
constexpr double least_spread = 0.1;
/// Of a row, the part of its energy that lies within `alike` of a key, averaged over keys: 0.008 where logits are
/// normal with a deviation of 0.7; f^2 where a part f of the keys is alike (a page whose K descale is tiny).
constexpr double alike = 0.01, most_alike = 0.02;

/// RMS difference of two rows' logits. P's rounding repeats when p moves by 1/8 to 1/16 in FP8 and sooner in other
/// types: at a difference of this size the phases of the two rows' roundings are unlike.
constexpr double least_difference = 0.1;

const tensor& output_of(std::span<const named_tensor> outputs, const problem& planned) {
  for (const named_tensor& t : outputs) {
    if (std::string_view(t.name) != "o") continue;
    const bool fits = t.view.rank == 3 && t.view.shape[0] == planned.total_q && t.view.shape[1] == planned.heads_q &&
                      t.view.shape[2] == planned.head_dim_v;
    if (fits) return t.view;
  }
  throw std::invalid_argument("residuals: there is no output o of the problem's shape");
}

ASSAY_CLONES void add_scaled(double factor, const double* from, double* to, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) to[c] += factor * from[c];
}

/// 1 / degrees of freedom of the columns' own errors: of equal ones, or of the last rounding, where those of the
/// largest binades count alone. Two less than there are columns: the direction of o and the tested one are taken out.
double inverse_dof_of_rounding(const std::vector<double>& exact, dtype o_type) {
  double squares = 0, fourths = 0;
  for (const double x : exact) {
    const double step = ulp(o_type, x);
    squares += step * step;
    fourths += step * step * step * step;
  }
  const double equal = 1 / static_cast<double>(exact.size()), rounding = fourths / (squares * squares);
  const double dof = 1 / std::max(equal, rounding) - 2;
  return dof > 0 ? 1 / dof : 1;
}

/// Of two rows' patterns; 1 where they share no key.
double rms_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    const double difference = a[at] - b[at];
    if (!std::isfinite(difference)) continue;
    sum += difference * difference;
    ++count;
  }
  return count == 0 ? 1 : std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

ASSAY_CLONES double dot(const double* a, const double* b, std::int64_t count) {
  constexpr std::int64_t lanes = 8;
  double sums[lanes] = {};
  std::int64_t c = 0;
  for (; c + lanes <= count; c += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) sums[l] += a[c + l] * b[c + l];
  double sum = 0;
  for (; c < count; ++c) sum += a[c] * b[c];
  for (const double s : sums) sum += s;
  return sum;
}

key_sums& key_sums::operator+=(const key_sums& other) {
  score += other.score;
  energy += other.energy;
  energy_sq += other.energy_sq;
  value_energy += other.value_energy;
  log += other.log;
  log_sq += other.log_sq;
  keys += other.keys;
  return *this;
}

key_sums key_sums::operator-(const key_sums& other) const {
  return {score - other.score,
          energy - other.energy,
          energy_sq - other.energy_sq,
          value_energy - other.value_energy,
          log - other.log,
          log_sq - other.log_sq,
          keys - other.keys};
}

bool key_sums::has_unlike_keys() const {
  if (keys < 1.5) return true;
  const double mean = log / energy;
  return log_sq / energy - mean * mean >= least_spread * least_spread;  // false for NaN
}

key_sums residual_row::between(std::int64_t begin, std::int64_t end) const {
  const key_range seen = intersect(keys, {begin, end});
  if (seen.empty()) return {};
  return sums[static_cast<std::size_t>(seen.end - keys.begin)] -
         sums[static_cast<std::size_t>(seen.begin - keys.begin)];
}

residual_rows::residual_rows(const problem& planned, std::span<const named_tensor> inputs,
                             std::span<const named_tensor> outputs)
    : planned_(planned),
      view_(planned, inputs),
      weights_(evaluate_attention_weights(planned, inputs)),
      o_(&output_of(outputs, planned)) {}

value_block residual_rows::load_values(std::int64_t seq, std::int64_t head_kv) const {
  value_block block;
  block.head_kv = head_kv;
  block.columns = planned_.head_dim_v;
  for (std::int64_t i = 0; i < view_.row_count(seq); ++i) {
    const key_range keys = view_.visible(seq, i);
    if (keys.empty()) continue;
    // One more at either end, for the hidden neighbours.
    const key_range wider{std::max<std::int64_t>(keys.begin - 1, 0), std::min(keys.end + 1, view_.key_count(seq))};
    if (block.keys.empty()) block.keys = wider;
    block.keys = {std::min(block.keys.begin, wider.begin), std::max(block.keys.end, wider.end)};
  }
  if (block.keys.size() > most_values / block.columns) return {};
  block.values.resize(static_cast<std::size_t>(block.keys.size() * block.columns));
  for (std::int64_t key = block.keys.begin; key < block.keys.end; ++key) {
    const key_place place = view_.place(seq, key);
    double* const to = block.values.data() + (key - block.keys.begin) * block.columns;
    view_.load_value(place, head_kv, to);
    const double descale = view_.v_descale(place.page, head_kv);
    const double factor = (is_descale(descale) ? descale : std::nan("")) * static_cast<double>(planned_.v_scale);
    for (std::int64_t c = 0; c < block.columns; ++c) to[c] *= factor;
  }
  return block;
}

/// False where the weights do not suit.
bool residual_rows::load_weights(residual_row& row) {
  exact_weights given = weights_(row.sequence, row.index, row.head);
  row.keys = given.visible;
  if (given.x.empty() || row.keys.size() < least_keys) return false;
  logs_ = std::move(given.x);
  row.weights.resize(logs_.size());
  std::ranges::transform(logs_, row.weights.begin(), [](double x) { return std::exp(x); });
  const auto hidden = [](double x) {
    const double weight = std::exp(x);
    return weight <= most_hidden_weight ? weight : 0;
  };
  row.lse = given.lse;
  row.slope = given.slope;
  row.before = hidden(given.before);
  row.behind = hidden(given.behind);
  return true;
}

/// See `most_alike`. The sums still are of single keys.
double residual_rows::share_of_alike(const residual_row& row, double trace) const {
  std::vector<std::size_t> order(logs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [this](std::size_t j) { return logs_[j]; });
  const auto energy = [&](std::size_t n) { return row.sums[order[n] + 1].energy / trace; };
  double within = 0, share = 0;
  std::size_t first = 0, last = 0;  // keys [first, last) of the order are within `alike` of the key
  for (std::size_t n = 0; n < order.size(); ++n) {
    const double x = logs_[order[n]];
    if (!std::isfinite(x)) continue;
    while (last < order.size() && logs_[order[last]] - x < alike) within += energy(last++);
    while (!(x - logs_[order[first]] < alike)) within -= energy(first++);
    share += energy(n) * std::max(0.0, within - energy(n));
  }
  return share;
}

/// False where the contributions or the output do not suit.
bool residual_rows::evaluate(residual_row& row, const value_block& values) {
  const std::int64_t columns = row.columns = values.columns, n = row.keys.size();
  const auto keys = static_cast<std::size_t>(n), dims = static_cast<std::size_t>(columns);
  row.exact.assign(dims, 0);
  for (std::int64_t j = 0; j < n; ++j)
    add_scaled(row.weights[static_cast<std::size_t>(j)], values.of(row.keys.begin + j), row.exact.data(), columns);
  const double size = dot(row.exact.data(), row.exact.data(), columns);
  if (!(size > 0) || !std::isfinite(size)) return false;
  const double most = largest(o_->type) / 4;
  if (!std::ranges::all_of(row.exact, [&](double x) { return std::fabs(x) < most; })) return false;

  row.residual.resize(dims);
  bool is_finite = true;
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t at = o_->offset(view_.first_row(row.sequence) + row.index, row.head, c);
    const auto column = static_cast<std::size_t>(c);
    row.residual[column] = load(*o_, at) - row.exact[column];
    is_finite = is_finite && std::isfinite(row.residual[column]);
  }
  const double along = is_finite ? dot(row.residual.data(), row.exact.data(), columns) : 0;
  add_scaled(-along / size, row.exact.data(), row.residual.data(), columns);

  row.sums.assign(keys + 1, {});
  const double sink = std::max(0.0, 1 - std::accumulate(row.weights.begin(), row.weights.end(), 0.0));
  const double light_below = std::max(light_weight * std::ranges::max(row.weights),
                                      (is_fp8(planned_.v_type) ? light_beside_sink_fp8 : light_beside_sink) * sink);
  double trace = 0, whole = 0, value_trace = 0, light = 0, squares = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    const double* const v = values.of(row.keys.begin + static_cast<std::int64_t>(j));
    const double weight = row.weights[j], on_o = dot(v, row.exact.data(), columns), all = dot(v, v, columns);
    const double value = weight == 0 ? 0 : std::max(0.0, all - on_o * on_o / size), energy = weight * weight * value;
    row.sums[j + 1] = {weight * dot(v, row.residual.data(), columns), energy, energy * energy, energy * value};
    trace += energy;
    value_trace += value;
    squares += energy * energy;
    whole += weight * weight * all;
    if (weight < light_below) light += energy;
  }
  if (!(trace > least_outside * whole) || !std::isfinite(whole) || !(light <= light_energy * trace)) return false;
  if (!is_finite) {
    if (not_finite_.row < 0) not_finite_ = {row.sequence, row.head / view_.heads_per_group(), row.index, row.head};
    return false;
  }
  if (!(share_of_alike(row, trace) <= most_alike)) return false;
  for (std::size_t j = 1; j <= keys; ++j) {
    key_sums& s = row.sums[j];
    const double energy = s.energy / trace, x = energy > 0 ? logs_[j - 1] : 0;
    s = {s.score / trace, energy, s.energy_sq / (trace * trace), s.value_energy / (trace * value_trace), energy * x,
         energy * x * x,  1};
    s += row.sums[j - 1];
  }
  row.trace = trace;
  row.value_trace = value_trace;
  row.along = along / trace;
  row.exact_size = size / trace;
  row.noise = dot(row.residual.data(), row.residual.data(), columns) / trace;
  row.inverse_dof = squares / (trace * trace) + inverse_dof_of_rounding(row.exact, o_->type);
  return row.noise > 0;
}

/// Rows whose weights are those of an earlier one are rounded like it: they are no evidence of their own. A pattern has
/// the logarithms of some keys' weights, of the same keys in all rows; NaN where the row does not see one.
bool residual_rows::is_unlike_others(const residual_row& row) {
  constexpr std::int64_t samples = 48;
  constexpr std::size_t most_rows = 512;  // of a kv head: what more of them would show is little
  if (patterns_.size() >= most_rows) return false;
  const std::int64_t step = std::max<std::int64_t>(1, view_.key_count(row.sequence) / samples);
  std::vector<double> pattern;
  for (std::int64_t key = 0; key < view_.key_count(row.sequence); key += step)
    pattern.push_back(key >= row.keys.begin && key < row.keys.end
                          ? logs_[static_cast<std::size_t>(key - row.keys.begin)]
                          : std::numeric_limits<double>::quiet_NaN());
  for (const std::vector<double>& other : patterns_)
    if (!(rms_difference(pattern, other) > least_difference)) return false;
  patterns_.push_back(std::move(pattern));
  return true;
}

std::int64_t residual_rows::visit(const row_scope& scope, const visitor& visit) {
  std::int64_t unsuited = 0;
  const auto covers = [](std::int64_t wanted, std::int64_t x) { return wanted < 0 || wanted == x; };
  for (std::int64_t seq = 0; seq < planned_.num_seqs; ++seq) {
    if (!covers(scope.sequence, seq)) continue;
    for (std::int64_t head_kv = 0; head_kv < planned_.heads_kv; ++head_kv) {
      if (!covers(scope.head_kv, head_kv)) continue;
      patterns_.clear();
      const std::int64_t group = view_.heads_per_group();
      value_block values;
      if (planned_.head_dim_v >= least_columns) values = load_values(seq, head_kv);
      for (std::int64_t i = 0; i < view_.row_count(seq); ++i)
        for (std::int64_t head = head_kv * group; head < (head_kv + 1) * group; ++head) {
          if (!covers(scope.row, i) || !covers(scope.head, head)) continue;
          residual_row row;
          row.sequence = seq, row.index = i, row.head = head;
          const bool suits =
              !values.values.empty() && load_weights(row) && is_unlike_others(row) && evaluate(row, values);
          if (suits)
            visit(row, values);
          else
            ++unsuited;
        }
    }
  }
  return unsuited;
}

}  // namespace assay::oracle
