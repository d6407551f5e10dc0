#include "oracle/residual_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::oracle {
namespace {

constexpr std::int64_t tile_keys = 64;  // usual; kernels with 128 show in two of them
constexpr std::int64_t atom_keys = 16;  // the least that matrix atoms reduce over

/// Kept where no level has blocks of that size yet, and where a sequence of so many keys has two of them.
void add_blocks(std::vector<group_level>& levels, group_kind kind, std::int64_t unit, std::int64_t keys) {
  const bool is_new = std::ranges::find(levels, unit, &group_level::unit) == levels.end();
  if (is_new && unit < keys) levels.push_back({kind, unit});
}

/// A hidden neighbour's sums, as if it had been visible: its part outside of o.
void visit_hidden(const residual_row& row, const double* v, double weight, const group_visitor& visit) {
  const double size = dot(row.exact.data(), row.exact.data(), row.columns),
               on_o = dot(v, row.exact.data(), row.columns);
  const double energy = weight * weight * (dot(v, v, row.columns) - on_o * on_o / size) / row.trace;
  const double score = weight * dot(v, row.residual.data(), row.columns) / row.trace;
  if (std::isfinite(score) && energy > 0 && std::isfinite(energy)) visit(0, {.score = score, .energy = energy});
}

void visit_shares(const group_level& level, const residual_row& row, const group_visitor& visit) {
  std::vector<key_sums> sums(static_cast<std::size_t>(level.ways));
  const std::int64_t first = row.keys.begin / level.unit * level.unit;
  std::int64_t way = first / level.unit % level.ways;
  for (std::int64_t key = first; key < row.keys.end; key += level.unit, way = way + 1 == level.ways ? 0 : way + 1)
    sums[static_cast<std::size_t>(way)] += row.between(key, key + level.unit);
  for (std::int64_t w = 0; w < level.ways; ++w)
    if (const key_sums& s = sums[static_cast<std::size_t>(w)]; s.energy > 0) visit(w, s);
}

}  // namespace

std::vector<group_level> levels_of(const problem& planned, std::int64_t keys) {
  std::vector<group_level> levels;
  add_blocks(levels, group_kind::page, planned.page_size, keys);
  if (planned.num_splits > 1) add_blocks(levels, group_kind::split, split_keys(planned, keys), keys);
  add_blocks(levels, group_kind::tile, tile_keys, keys);
  add_blocks(levels, group_kind::tile, atom_keys, keys);
  add_blocks(levels, group_kind::key, 1, keys);
  levels.push_back({group_kind::prefix, atom_keys});
  return levels;
}

std::vector<group_level> shared_levels(const problem& planned) {
  std::vector<group_level> levels;
  std::vector<std::int64_t> units = {1, 4, 8, 16, 32, 64};
  if (std::ranges::find(units, planned.page_size) == units.end()) units.push_back(planned.page_size);
  for (const std::int64_t unit : units)
    for (const std::int64_t ways : {2, 4, 8}) levels.push_back({group_kind::share, unit, ways});
  for (const group_kind edge : {group_kind::first_key, group_kind::last_key, group_kind::key_before,
                                group_kind::key_behind, group_kind::all_keys})
    levels.push_back({edge});
  return levels;
}

std::vector<group_level> positions_of_case(const problem& planned) {
  std::vector<group_level> levels;
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  add_blocks(levels, group_kind::tile, tile_keys, any);
  add_blocks(levels, group_kind::tile, planned.page_size, any);
  add_blocks(levels, group_kind::tile, atom_keys, any);
  levels.push_back({group_kind::prefix, atom_keys});
  if (planned.num_splits > 1) levels.push_back({group_kind::split, 0});
  for (const group_level& level : shared_levels(planned))
    if (level.kind != group_kind::all_keys) levels.push_back(level);
  return levels;
}

std::int64_t split_keys(const problem& planned, std::int64_t keys) {
  const std::int64_t tiles = (keys + tile_keys - 1) / tile_keys;
  return (tiles + planned.num_splits - 1) / planned.num_splits * tile_keys;
}

std::int64_t count_of(const group_level& level, std::int64_t keys) {
  if (level.kind == group_kind::share) return level.ways;
  if (level.kind > group_kind::share) return 1;
  return keys / level.unit + 1;
}

void for_each_group(const group_level& level, const residual_row& row, const value_block& values,
                    const group_visitor& visit) {
  switch (level.kind) {
    case group_kind::page:
    case group_kind::split:
    case group_kind::tile:
    case group_kind::key:
      for (std::int64_t n = row.keys.begin / level.unit; n * level.unit < row.keys.end; ++n)
        visit(n, row.between(n * level.unit, (n + 1) * level.unit));
      break;
    case group_kind::prefix:
      for (std::int64_t n = row.keys.begin / level.unit + 1; n * level.unit < row.keys.end; ++n)
        visit(n, row.between(0, n * level.unit));
      break;
    case group_kind::share: visit_shares(level, row, visit); break;
    case group_kind::first_key: visit(0, row.between(row.keys.begin, row.keys.begin + 1)); break;
    case group_kind::last_key: visit(0, row.between(row.keys.end - 1, row.keys.end)); break;
    case group_kind::key_before:
      if (row.before > 0) visit_hidden(row, values.of(row.keys.begin - 1), row.before, visit);
      break;
    case group_kind::key_behind:
      if (row.behind > 0) visit_hidden(row, values.of(row.keys.end), row.behind, visit);
      break;
    case group_kind::all_keys:
    case group_kind::not_finite: break;
  }
}

residual_finding group_of(const group_level& level, std::int64_t index, std::int64_t keys) {
  residual_finding group{.kind = level.kind};
  if (level.kind == group_kind::share) {
    group.unit = level.unit, group.ways = level.ways, group.index = index;
  } else if (level.kind == group_kind::prefix) {
    group.end = std::min(keys, index * level.unit);
  } else if (!level.is_of_all_sequences()) {
    group.begin = index * level.unit;
    group.end = std::min(keys, group.begin + level.unit);
  }
  return group;
}

bool has_key(const residual_finding& group, const residual_row& row, std::int64_t key) {
  const bool is_visible = key >= row.keys.begin && key < row.keys.end;
  switch (group.kind) {
    case group_kind::share: return is_visible && key / group.unit % group.ways == group.index;
    case group_kind::first_key: return key == row.keys.begin;
    case group_kind::last_key: return key == row.keys.end - 1;
    case group_kind::key_before: return key == row.keys.begin - 1;
    case group_kind::key_behind: return key == row.keys.end;
    case group_kind::all_keys: return is_visible;
    case group_kind::not_finite: return false;
    default: return is_visible && key >= group.begin && key < group.end;
  }
}

key_sums sums_of(const residual_finding& group, const residual_row& row) {
  key_sums sums;
  for (std::int64_t key = row.keys.begin; key < row.keys.end; ++key)
    if (has_key(group, row, key)) sums += row.between(key, key + 1);
  return sums;
}

std::vector<double> contribution(const residual_finding& group, const residual_row& row, const value_block& values) {
  std::vector<double> sum(static_cast<std::size_t>(row.columns));
  const auto add = [&](std::int64_t key, double weight) {
    if (!has_key(group, row, key) || !(weight > 0)) return;
    const double* const v = values.of(key);
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weight * v[c];
  };
  for (std::int64_t key = row.keys.begin; key < row.keys.end; ++key)
    add(key, row.weights[static_cast<std::size_t>(key - row.keys.begin)]);
  add(row.keys.begin - 1, row.before);
  add(row.keys.end, row.behind);
  return sum;
}

}  // namespace assay::oracle
