#include "properties/explain/error_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "oracle/explain.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/edit.hpp"

namespace assay {
namespace {

constexpr std::size_t most_shares = 24;
constexpr std::size_t most_rows_with_story = 256;  ///< times heads; the stories of more take too long

/// Which share of an element each group has.
using parts = std::map<std::int64_t, double>;

/// Groups of one kind while they are summed; -1 is what no group has.
struct running_sum {
  std::map<std::int64_t, error_share> shares;
  void add(std::int64_t group, double error, double part) { add_error(shares[group], error, part); }
  void add(const parts& of, double error) {
    for (const auto& [group, part] : of) add(group, error, part);
  }
};

error_sum finished(const std::string& kind, running_sum sum) {
  std::vector<std::pair<std::int64_t, error_share>> all(sum.shares.begin(), sum.shares.end());
  for (auto& [group, share] : all) share.name = group < 0 ? "no " + kind : fmt::format("{} {}", kind, group);
  error_sum made{kind, {}};
  error_share others{"others"};
  if (all.size() > most_shares) {
    std::ranges::sort(all, [](const auto& a, const auto& b) {
      return std::pair(a.second.not_finite, a.second.error) > std::pair(b.second.not_finite, b.second.error);
    });
    for (std::size_t i = most_shares - 1; i < all.size(); ++i) {
      others.error += all[i].second.error;
      others.not_finite += all[i].second.not_finite;
    }
    others.name = fmt::format("{} others", all.size() - most_shares + 1);
    all.resize(most_shares - 1);
    std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  }
  for (auto& [group, share] : all) made.shares.push_back(std::move(share));
  if (others.name != "others") made.shares.push_back(std::move(others));
  return made;
}

/// How the weight of a row's softmax divides over pages, tiles and splits.
struct row_parts {
  parts pages, tiles, splits;
};

void normalise(parts& of) {
  double sum = 0;
  for (const auto& [group, part] : of) sum += part;
  if (of.empty() || !(sum > 0) || !std::isfinite(sum)) {
    of = {{-1, 1.0}};
    return;
  }
  for (auto& [group, part] : of) part /= sum;
}

std::int64_t sequence_of(const inputs& in, std::int64_t row) {
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s)
    if (row >= first_row_of(in, s) && row < first_row_of(in, s) + rows_of(in, s)) return s;
  return -1;
}

/// The keys of a row and head of attention. Nothing of a row behind the last sequence's.
oracle::element_story story_of(const detailed_run& run, std::int64_t row, std::int64_t head) {
  constexpr int all_keys = 1 << 30;
  if (sequence_of(run.given, row) < 0) return {};
  return oracle::explain_element(run.ran.planned, run.given.tensors(), run.ran.declared, row, head, 0, all_keys);
}

/// With `split` of its keys alone.
row_parts parts_of(const detailed_run& run, std::int64_t row, std::int64_t head, std::int64_t split) {
  const oracle::element_story story = story_of(run, row, head);
  row_parts made;
  for (const oracle::tile_story& tile : story.tiles) {
    if (split >= 0 && tile.split != split) continue;
    for (const oracle::key_share& k : tile.keys) {
      if (!(k.probability > 0)) continue;
      made.pages[k.page] += k.probability;
      made.tiles[tile.tile] += k.probability;
      made.splits[tile.split] += k.probability;
    }
  }
  for (parts* p : {&made.pages, &made.tiles, &made.splits}) normalise(*p);
  return made;
}

/// By page, tile and split, of O and the LSE.
void sum_by_weight(const detailed_run& run, const std::vector<error_at>& outside, std::size_t first_axis,
                   std::map<std::string, running_sum>& sums) {
  std::map<std::vector<std::int64_t>, row_parts> known;
  for (const error_at& at : outside) {
    const std::int64_t row = at.index[first_axis], head = at.index[first_axis + 1];
    const std::int64_t split = first_axis == 1 ? at.index[0] : -1;
    auto found = known.find({split, row, head});
    if (found == known.end() && known.size() < most_rows_with_story)
      found = known.emplace(std::vector{split, row, head}, parts_of(run, row, head, split)).first;
    const row_parts none{{{-1, 1.0}}, {{-1, 1.0}}, {{-1, 1.0}}};
    const row_parts& of = found == known.end() ? none : found->second;
    sums["page"].add(of.pages, at.error);
    sums["tile"].add(of.tiles, at.error);
    if (split < 0) sums["split"].add(of.splits, at.error);
  }
}

/// By page and tile, of logits.
void sum_by_key(const detailed_run& run, const std::vector<error_at>& outside,
                std::map<std::string, running_sum>& sums) {
  const problem& p = run.ran.planned;
  for (const error_at& at : outside) {
    const std::int64_t s = sequence_of(run.given, at.index[0]), key = at.index[1];
    const bool is_key = s >= 0 && key < keys_of(run.given, s);
    sums["page"].add(is_key ? page_entry(run.given, s, key / p.page_size) : -1, at.error, 1);
    sums["tile"].add(key / std::max(1, run.ran.declared.tile_keys), at.error, 1);
  }
}

}  // namespace

void add_error(error_share& share, double error, double part) {
  if (std::isfinite(error))
    share.error += part * error;
  else
    share.not_finite += part;
}

std::vector<error_sum> sum_errors(const detailed_run& run, const std::string& tensor,
                                  const std::vector<std::string>& axes, const std::vector<error_at>& outside) {
  std::map<std::string, running_sum> sums;
  const std::uint32_t capabilities = describe(run.ran.planned.operation).capabilities;
  const auto first_row = std::ranges::find(axes, "query row");
  if (first_row != axes.end() && (capabilities & has_softmax) != 0)
    sum_by_weight(run, outside, static_cast<std::size_t>(first_row - axes.begin()), sums);
  else if (tensor == "logits" && axes.back() == "key")
    sum_by_key(run, outside, sums);
  for (std::size_t d = 0; d < axes.size(); ++d)
    for (const error_at& at : outside) {
      if (axes[d] == "column") sums["lane"].add(at.index[d] % columns_of_atom, at.error, 1);
      if (axes[d] == "head" || axes[d] == "split" || axes[d] == "page") sums[axes[d]].add(at.index[d], at.error, 1);
    }
  std::vector<error_sum> made;
  for (const char* kind : {"page", "tile", "split", "head", "lane"})
    if (const auto at = sums.find(kind); at != sums.end()) made.push_back(finished(kind, std::move(at->second)));
  return made;
}

}  // namespace assay
