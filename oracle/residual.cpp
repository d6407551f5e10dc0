#include "oracle/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/float_environment.hpp"
#include "oracle/residual_confirm.hpp"
#include "oracle/residual_evidence.hpp"
#include "oracle/residual_groups.hpp"
#include "oracle/residual_lse.hpp"

namespace assay::oracle {
namespace {

/// The search's estimates are within about a tenth of the exact variances: it proposes a little below the threshold.
constexpr double search_threshold = 0.85 * residual_threshold;
constexpr std::size_t most_confirmed = 3;

/// A row's evidence on a group, as if the contributions were orthogonal: with phi the group's share of the energy,
/// |c'_g|^2 = phi (1 - phi) trace, and each of the group's keys has <a'_j, c'_g> = |a'_j|^2 (1 - phi), others -|a'_j|^2
/// phi; beside, all keys have a random part along c'_g.
residual_evidence estimate(const residual_row& row, const key_sums& group, bool is_hidden, double tolerance) {
  const double phi = is_hidden ? 0 : group.energy, rest = 1 - phi;
  const double size = is_hidden ? group.energy : phi * rest;
  const double even = size / static_cast<double>(row.columns - 1);
  const auto own = [&](double of_group, double of_all) {
    return is_hidden ? 0 : of_group * rest * rest + std::max(0.0, of_all - of_group) * phi * phi;
  };
  const double relative = own(group.energy_sq, row.sums.back().energy_sq);
  const double absolute = own(group.value_energy, row.sums.back().value_energy);
  return evidence_of_row(group.score, size, even + std::max(relative, absolute), row.noise, row.inverse_dof, tolerance);
}

/// Evidence on the groups of one level.
struct pool {
  group_level level;
  std::vector<residual_evidence> groups;
  pool(const group_level& of, std::int64_t keys) : level(of), groups(static_cast<std::size_t>(count_of(of, keys))) {}
};

class search {
 public:
  search(const problem& planned, const contract& declared, const tensor* lse, residual_rows& rows)
      : planned_(planned),
        pv_(declared.pv),
        rows_(rows),
        lse_(planned, rows.view(), lse, {declared.base_of_lse, declared.qk}) {
    for (const group_level& level : shared_levels(planned)) of_case_.emplace_back(level, 0);
  }

  residual_result run(std::int64_t sequence) {
    result_.unsuited = rows_.visit({.sequence = sequence}, [this](const residual_row& row, const value_block& values) {
      begin(row.sequence, row.head / rows_.view().heads_per_group());
      add(row, values);
      lse_.add(row);
    });
    begin(-1, -1);
    consider(of_case_, {});
    if (rows_.not_finite().row >= 0) {
      const row_scope& at = rows_.not_finite();
      result_.finding = residual_finding{.kind = group_kind::not_finite,
                                         .sequence = at.sequence,
                                         .head_kv = at.head_kv,
                                         .row = at.row,
                                         .head = at.head,
                                         .sigmas = std::numeric_limits<double>::infinity(),
                                         .rows = 1};
      return result_;
    }
    choose();
    lse_.finish(result_);
    return result_;
  }

 private:
  struct candidate {
    residual_finding group;
    double sigmas;
  };

  /// Closes the pools of the kv head and the sequence before.
  void begin(std::int64_t sequence, std::int64_t head_kv) {
    if (sequence == sequence_ && head_kv == head_kv_) return;
    if (sequence_ >= 0) {
      consider(of_head_, {.sequence = sequence_, .head_kv = head_kv_});
      merge(of_sequence_, of_head_);
    }
    if (sequence != sequence_ && sequence_ >= 0 && planned_.heads_kv > 1)
      consider(of_sequence_, {.sequence = sequence_});
    const bool is_new = sequence != sequence_;
    sequence_ = sequence;
    head_kv_ = head_kv;
    of_head_.clear();
    if (is_new) of_sequence_.clear();
    if (sequence < 0) return;
    keys_ = rows_.view().key_count(sequence);
    for (const group_level& level : levels_of(planned_, keys_)) of_head_.emplace_back(level, keys_);
    for (const group_level& level : shared_levels(planned_)) of_head_.emplace_back(level, keys_);
  }

  static void merge(std::vector<pool>& to, const std::vector<pool>& from) {
    if (to.empty())
      to = from;
    else
      for (std::size_t l = 0; l < to.size(); ++l)
        for (std::size_t g = 0; g < to[l].groups.size(); ++g) to[l].groups[g] += from[l].groups[g];
  }

  void add(const residual_row& row, const value_block& values) {
    ++result_.rows;
    const double tolerance = tolerance_of(pv_, row);
    const residual_finding alone{.sequence = row.sequence, .head_kv = head_kv_, .row = row.index, .head = row.head};
    std::size_t first_shared = of_head_.size() - of_case_.size();
    for (std::size_t l = 0; l < of_head_.size(); ++l) {
      pool& p = of_head_[l];
      const bool is_hidden = p.level.kind == group_kind::key_before || p.level.kind == group_kind::key_behind;
      const auto take = [&](std::int64_t group, residual_evidence e) {
        if (e.rows == 0) return;
        e.aligned = value_error(planned_.v_type) * std::sqrt(e.size / static_cast<double>(row.columns));
        p.groups[static_cast<std::size_t>(group)] += e;
        if (l >= first_shared) of_case_[l - first_shared].groups[static_cast<std::size_t>(group)] += e;
        if (p.level.kind != group_kind::key) propose(p.level, group, e, alone);
      };
      if (p.level.kind == group_kind::all_keys)
        take(0, estimate_all(row, tolerance));
      else
        for_each_group(p.level, row, values, [&](std::int64_t group, const key_sums& sums) {
          if (sums.has_unlike_keys()) take(group, estimate(row, sums, is_hidden, tolerance));
        });
    }
  }

  static residual_evidence estimate_all(const residual_row& row, double tolerance) {
    const double quadratic = row.exact_size / static_cast<double>(row.columns - 1) + row.sums.back().energy_sq;
    residual_evidence e{.score = row.along, .size = row.exact_size, .variance = row.noise * quadratic, .rows = 1};
    e.spread = e.variance * e.variance * row.inverse_dof;
    e.tolerated = (tolerance + 2 * std::sqrt(row.noise)) * row.exact_size;
    return e;
  }

  void propose(const group_level& level, std::int64_t index, const residual_evidence& e,
               const residual_finding& scope) {
    ++result_.groups;
    const double sigmas = std::fabs(e.sigmas());
    if (!(sigmas >= search_threshold)) {
      result_.largest_sigmas = std::max(result_.largest_sigmas, sigmas);
      return;
    }
    residual_finding group = group_of(level, index, keys_);
    group.sequence = scope.sequence, group.head_kv = scope.head_kv, group.row = scope.row, group.head = scope.head;
    candidates_.push_back({group, sigmas});
    for (std::size_t at = candidates_.size() - 1; at > 0 && candidates_[at - 1].sigmas < sigmas; --at)
      std::swap(candidates_[at - 1], candidates_[at]);
    if (candidates_.size() > most_confirmed) candidates_.pop_back();
  }

  void consider(const std::vector<pool>& pools, const residual_finding& scope) {
    for (const pool& p : pools)
      for (std::size_t g = 0; g < p.groups.size(); ++g)
        if (p.groups[g].rows > 0) propose(p.level, static_cast<std::int64_t>(g), p.groups[g], scope);
  }

  /// The clearest of the candidates by their exact variances.
  void choose() {
    for (const candidate& c : candidates_) {
      const residual_evidence e = confirm(c.group, planned_, pv_, rows_);
      const double sigmas = std::fabs(e.sigmas());
      result_.largest_sigmas = std::max(result_.largest_sigmas, sigmas);
      if (!(sigmas >= residual_threshold) || (result_.finding && !(sigmas > result_.finding->sigmas))) continue;
      residual_finding found = c.group;
      found.excess = e.excess();
      found.sigmas = sigmas;
      found.rows = e.rows;
      if (found.kind == group_kind::page) found.page = rows_.view().place(found.sequence, found.begin).page;
      result_.finding = found;
    }
  }

  const problem& planned_;
  const accumulation& pv_;
  residual_rows& rows_;
  lse_test lse_;
  std::int64_t sequence_ = -1, head_kv_ = -1, keys_ = 0;
  std::vector<pool> of_head_, of_sequence_, of_case_;
  std::vector<candidate> candidates_;
  residual_result result_;
};

/// Null where the kernel writes none.
const tensor* lse_of(const problem& planned, std::span<const named_tensor> outputs) {
  const tensor* const lse = find(outputs, "lse");
  const bool fits =
      lse != nullptr && lse->rank == 2 && lse->shape[0] == planned.total_q && lse->shape[1] == planned.heads_q;
  return fits ? lse : nullptr;
}

}  // namespace

residual_result test_residuals(const problem& planned, std::span<const named_tensor> inputs,
                               std::span<const named_tensor> outputs, const contract& declared, std::int64_t sequence) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  residual_rows rows(planned, inputs, outputs);
  return search(planned, declared, lse_of(planned, outputs), rows).run(sequence);
}

}  // namespace assay::oracle
