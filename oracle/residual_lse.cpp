#include "oracle/residual_lse.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "oracle/decode.hpp"
#include "oracle/residual_confirm.hpp"

namespace assay::oracle {
namespace {

/// 32 MiB of shares; rows beyond are left out.
constexpr std::int64_t most_numbers = std::int64_t{1} << 22;
constexpr std::size_t most_confirmed = 3;
constexpr double general_tolerance = 0x1p-11;
constexpr double floor_unit = 0x1p-20;
constexpr double key_error = 0x1p-10, descale_error = 0x1p-12;
constexpr double ln2 = 0x1.62e42fefa39efp-1;

}  // namespace

lse_test::lse_test(const problem& planned, const problem_view& view, const tensor* lse, const lse_terms& terms)
    : planned_(planned), view_(view), lse_(lse), terms_(terms) {}

void lse_test::add(const residual_row& row) {
  if (lse_ == nullptr) return;
  if (!rows_.empty() && rows_.back().sequence != row.sequence) close_sequence();
  const auto keys = static_cast<std::int64_t>(row.weights.size());
  const double stored = load(*lse_, lse_->offset(view_.first_row(row.sequence) + row.index, row.head));
  if (!std::isfinite(stored) || numbers_ + keys > most_numbers) return;
  lse_row r;
  r.sequence = row.sequence, r.index = row.index, r.head = row.head;
  r.keys = row.keys;
  r.stored = stored;
  r.exact = row.lse;
  r.residual = (terms_.base == lse_base::two ? stored * ln2 : stored) - row.lse;
  r.before = row.before, r.behind = row.behind;
  r.split_keys = split_keys(planned_, view_.key_count(row.sequence));
  r.mass.reserve(row.weights.size() + 1);
  r.mass.push_back(0);
  double mean = 0, heaviest = 0;
  for (const double w : row.weights) {
    r.mass.push_back(r.mass.back() + w);
    if (w > 0) mean += w * (std::log(w) + row.lse);
    heaviest = std::max(heaviest, w);
  }
  const double largest = std::log(heaviest) + row.lse;
  r.nuisances = {row.lse, largest, mean, row.slope, heaviest, static_cast<double>(keys)};
  r.floor = floor_unit * (1 + std::fabs(row.lse) + std::fabs(largest));
  numbers_ += keys;
  rows_.push_back(std::move(r));
}

void lse_test::close_sequence() {
  if (first_of_sequence_ == rows_.size()) return;
  const std::int64_t sequence = rows_.back().sequence, keys = view_.key_count(sequence);
  const lse_pool pool(std::span(rows_).subspan(first_of_sequence_));
  std::vector<group_level> levels = levels_of(planned_, keys);
  if (planned_.num_seqs == 1)
    for (const group_level& level : shared_levels(planned_))
      if (level.kind != group_kind::all_keys) levels.push_back(level);
  test(pool, levels, keys, sequence);
  first_of_sequence_ = rows_.size();
}

void lse_test::test(const lse_pool& pool, const std::vector<group_level>& levels, std::int64_t keys,
                    std::int64_t sequence) {
  if (!pool.is_large_enough()) return;
  const auto rows = static_cast<std::int64_t>(pool.rows().size());
  tested_rows_ = sequence < 0 ? std::max(tested_rows_, rows) : tested_rows_ + rows;
  for (const group_level& level : levels) {
    const bool is_of_splits = level.kind == group_kind::split && level.unit == 0;
    const std::int64_t count = is_of_splits ? planned_.num_splits : count_of(level, keys);
    for (std::int64_t index = 0; index < count; ++index) {
      residual_finding group =
          is_of_splits ? residual_finding{.kind = group_kind::split, .index = index} : group_of(level, index, keys);
      group.sequence = sequence;
      propose(pool, level, index, group);
    }
  }
  for (candidate& c : candidates_) {
    if (c.weights.empty()) continue;
    c.group.sigmas = std::fabs(c.seen.sigmas(shared_variance(pool, c.weights)));
    c.weights.clear();
    largest_ = std::max(largest_, c.group.sigmas);
  }
}

void lse_test::propose(const lse_pool& pool, const group_level& level, std::int64_t index, residual_finding group) {
  std::vector<double> shares;
  shares.reserve(pool.rows().size());
  for (const lse_row* r : pool.rows()) shares.push_back(share_of(level, index, *r));
  const double atoms = static_cast<double>(planned_.head_dim_qk) / std::max(terms_.qk.products, 1) + 1;
  const lse_evidence e = pool.evidence(shares, general_tolerance + truncation_of(terms_.qk, atoms));
  if (e.rows == 0) return;
  ++groups_;
  const double sigmas = std::fabs(e.sigmas());
  // More groups may come: this is the least that the threshold can be.
  if (!(sigmas >= lse_threshold(1, static_cast<std::int64_t>(shares.size())))) {
    largest_ = std::max(largest_, sigmas);
    return;
  }
  group.is_of_lse = true;
  group.excess = e.excess();
  group.rows = e.rows;
  candidates_.push_back({group, e, static_cast<std::int64_t>(shares.size()), pool.weights_for(shares)});
  for (std::size_t at = candidates_.size() - 1; at > 0 && candidates_[at - 1].seen.explained < e.explained; --at)
    std::swap(candidates_[at - 1], candidates_[at]);
  if (candidates_.size() > most_confirmed) candidates_.pop_back();
}

double lse_test::shared_variance_of(std::span<const lse_row* const> rows, std::span<const double> weights,
                                    std::int64_t head_kv) const {
  const auto dim = static_cast<std::size_t>(planned_.head_dim_qk);
  const double scale = static_cast<double>(planned_.scale) * static_cast<double>(planned_.q_scale) *
                       static_cast<double>(planned_.k_scale);
  std::vector<double> queries(rows.size() * dim), key(dim), sum(dim);
  key_range keys = rows.front()->keys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    view_.load_query(view_.first_row(rows[i]->sequence) + rows[i]->index, rows[i]->head, queries.data() + i * dim);
    keys = {std::min(keys.begin, rows[i]->keys.begin), std::max(keys.end, rows[i]->keys.end)};
  }
  double of_keys = 0;
  std::map<std::int64_t, double> of_pages;
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const key_place place = view_.place(rows.front()->sequence, j);
    view_.load_key(place, head_kv, key.data());
    std::ranges::fill(sum, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double share = rows[i]->between(j, j + 1);
      if (!(share > 0)) continue;
      const double weight = weights[i] * share;
      for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * queries[i * dim + d];
      of_pages[place.page] += weight * (std::log(share) + rows[i]->exact);
    }
    const double factor = scale * view_.k_descale(place.page, head_kv);
    for (std::size_t d = 0; d < dim; ++d) of_keys += std::pow(factor * key[d] * sum[d], 2);
  }
  double variance = key_error * key_error * of_keys;
  if (view_.has_page_descales())
    for (const auto& [page, moved] : of_pages) variance += std::pow(descale_error * moved, 2);
  return variance;
}

double lse_test::shared_variance(const lse_pool& pool, const std::vector<double>& weights) const {
  const std::vector<const lse_row*>& rows = pool.rows();
  double sum = 0, deviations = 0;
  std::set<std::int64_t> pages;
  bool is_shared = false;  // where sequences share pages, they share their errors
  for (std::size_t begin = 0; begin < rows.size();) {
    std::map<std::int64_t, std::pair<std::vector<const lse_row*>, std::vector<double>>> heads;
    std::size_t end = begin;
    for (; end < rows.size() && rows[end]->sequence == rows[begin]->sequence; ++end) {
      auto& of_head = heads[rows[end]->head / view_.heads_per_group()];
      of_head.first.push_back(rows[end]);
      of_head.second.push_back(weights[end]);
    }
    double variance = 0;
    for (const auto& [head_kv, of_head] : heads) variance += shared_variance_of(of_head.first, of_head.second, head_kv);
    sum += variance;
    deviations += std::sqrt(variance);
    const std::int64_t sequence = rows[begin]->sequence, keys = view_.key_count(sequence);
    std::set<std::int64_t> own;
    for (std::int64_t key = 0; key < keys; key += planned_.page_size) own.insert(view_.place(sequence, key).page);
    const std::size_t before = pages.size();
    pages.insert(own.begin(), own.end());
    is_shared = is_shared || pages.size() != before + own.size();
    begin = end;
  }
  return is_shared ? deviations * deviations : sum;
}

void lse_test::finish(residual_result& result) {
  close_sequence();
  if (planned_.num_seqs > 1 && !rows_.empty()) {
    std::int64_t keys = 0;
    for (std::int64_t s = 0; s < planned_.num_seqs; ++s) keys = std::max(keys, view_.key_count(s));
    test(lse_pool(rows_), positions_of_case(planned_), keys, -1);
  }
  result.lse_rows = tested_rows_;
  result.lse_groups = groups_;
  result.lse_largest = largest_;
  if (result.finding) return;
  for (const candidate& c : candidates_)
    if (!result.finding && c.group.sigmas >= lse_threshold(groups_, c.rows)) {
      result.finding = c.group;
      if (result.finding->kind == group_kind::page)
        result.finding->page = view_.place(result.finding->sequence, result.finding->begin).page;
    }
}

}  // namespace assay::oracle
