#include "properties/run/features.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"

namespace assay {
namespace {

/// In the order of the table.
enum index : std::size_t {
  tiles_none,
  tiles_one,
  tiles_two,
  tiles_many,
  splits_empty,
  splits_filled,
  codes_straddled,
  codes_zero,
  page_same,
  page_next,
  page_previous,
  page_gap,
  page_far,
  page_shared,
  page_across_2gib,
  page_across_4gib,
  page_ends_in_tile,
  tile_ends_in_page,
  keys_before_tile,
  keys_at_tile,
  keys_past_tile,
  keys_around_page,
  keys_around_chunk,
  rows_blind,
  rows_cut_in_tile,
  rows_skip_tiles,
  rows_of_two_blocks,
  lse_sees_nothing,
  outputs_wide,
};

constexpr std::array<feature, num_features> table{{
    {"tiles_none", "sequences without keys"},
    {"tiles_one", "sequences of one tile"},
    {"tiles_two", "sequences of two tiles"},
    {"tiles_many", "sequences of three tiles and more"},
    {"splits_empty", "empty splits of a sequence that has keys"},
    {"splits_filled", "splits after the first one that have keys"},
    {"codes_straddled", "codes of P whose p straddles the middle of two codes"},
    {"codes_zero", "codes of P that are 0 though the key is visible"},
    {"page_same", "pages of a sequence that follow the same page"},
    {"page_next", "pages that follow their neighbour in the pool"},
    {"page_previous", "pages that follow the one behind them in the pool"},
    {"page_gap", "pages that follow the next but one before them in the pool"},
    {"page_far", "pages that follow any other page"},
    {"page_shared", "pages of a sequence that an earlier sequence also has"},
    {"page_across_2gib", "neighbours in a sequence that begin on either side of the K pool's byte 2^31"},
    {"page_across_4gib", "neighbours in a sequence that begin on either side of the K pool's byte 2^32"},
    {"page_ends_in_tile", "tiles with keys of more than one page"},
    {"tile_ends_in_page", "pages with keys of more than one tile"},
    {"keys_before_tile", "sequences one key short of a full tile"},
    {"keys_at_tile", "sequences that end with a tile"},
    {"keys_past_tile", "sequences with one key in their last tile"},
    {"keys_around_page", "sequences that end within a key of a page's end"},
    {"keys_around_chunk", "contexts of MQA that end within a key of a chunk of two stages"},
    {"rows_blind", "query rows that see no key of a sequence that has some"},
    {"rows_cut_in_tile", "query rows whose visible keys begin or end within a tile that goes on"},
    {"rows_skip_tiles", "query rows that do not see the sequence's first tile, or not its last"},
    {"rows_of_two_blocks", "sequences with more query rows than a block has"},
    {"lse_sees_nothing", "elements of lse that are -inf"},
    {"outputs_wide", "elements of o whose enclosure admits more than two values of their type"},
}};

class counting {
 public:
  counting(const attention_case& c, const detailed_run& run)
      : case_(c), operation_(describe(c)), run_(run), tile_(std::max(run.ran.declared.tile_keys, 1)) {}

  feature_counts all() {
    std::set<std::int64_t> seen;
    for (const sequence& s : case_.sequences) {
      lengths(s);
      if (has(has_softmax)) splits(s);
      pages(s, seen);
      for (std::int64_t i = 0; has(has_mask) && i < s.q; ++i) row(s, i);
    }
    values();
    return counts_;
  }

 private:
  bool has(capability asked) const { return (operation_.capabilities & asked) != 0; }
  void add(index which, std::int64_t times) { counts_[which] += times; }

  std::int64_t tiles_of(const sequence& s) const { return pages_for(s.k, tile_); }

  void lengths(const sequence& s) {
    const std::int64_t tiles = tiles_of(s), in_last = s.k % tile_;
    add(tiles == 0 ? tiles_none : tiles == 1 ? tiles_one : tiles == 2 ? tiles_two : tiles_many, 1);
    add(keys_before_tile, in_last == tile_ - 1);
    add(keys_at_tile, s.k > 0 && in_last == 0);
    add(keys_past_tile, in_last == 1);
    const std::int64_t in_page = s.k % case_.page_size;
    add(keys_around_page, s.k > 0 && case_.page_size > 2 && (in_page <= 1 || in_page == case_.page_size - 1));
    add(rows_of_two_blocks, run_.ran.declared.tile_rows > 1 && s.q > std::max(64, run_.ran.declared.tile_rows));
    if (!has(has_columns)) return;
    const std::int64_t chunk = 2 * tile_, in_chunk = s.k % chunk;
    add(keys_around_chunk, s.k > 1 && (in_chunk <= 1 || in_chunk == chunk - 1));
  }

  void splits(const sequence& s) {
    const std::int64_t splits = std::max(run_.ran.planned.num_splits, 1);
    const std::int64_t tiles = tiles_of(s);
    if (tiles == 0) return;
    const std::int64_t filled = pages_for(tiles, pages_for(tiles, splits));
    add(splits_empty, splits - filled);
    add(splits_filled, filled - 1);
  }

  void pages(const sequence& s, std::set<std::int64_t>& seen) {
    const std::int64_t page_bytes =
        std::int64_t{case_.page_size} * case_.heads_kv * case_.head_dim_qk * size_bytes(case_.kv_type);
    for (std::size_t i = 1; i < s.pages.size(); ++i) {
      const std::int64_t before = s.pages[i - 1], now = s.pages[i], step = now - before;
      add(step == 0    ? page_same
          : step == 1  ? page_next
          : step == -1 ? page_previous
          : step == 2  ? page_gap
                       : page_far,
          1);
      for (const auto& [which, bit] : {std::pair{page_across_2gib, 31}, {page_across_4gib, 32}}) {
        const std::int64_t boundary = std::int64_t{1} << bit;
        add(which, std::min(before, now) * page_bytes < boundary && std::max(before, now) * page_bytes >= boundary);
      }
    }
    std::set<std::int64_t> own(s.pages.begin(), s.pages.end());
    for (const std::int64_t page : own) add(page_shared, !seen.insert(page).second);
    const std::int64_t tiles = tiles_of(s);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t last = std::min((t + 1) * tile_, std::int64_t{s.k}) - 1;
      add(page_ends_in_tile, t * tile_ / case_.page_size != last / case_.page_size);
    }
    for (std::int64_t p = 0; p < static_cast<std::int64_t>(s.pages.size()); ++p) {
      const std::int64_t last = std::min((p + 1) * case_.page_size, std::int64_t{s.k}) - 1;
      add(tile_ends_in_page, p * case_.page_size / tile_ != last / tile_);
    }
  }

  void row(const sequence& s, std::int64_t i) {
    const auto [begin, end] = visibility_of(case_).seen(first_position(s) + i, s.k);
    if (begin >= end) {
      add(rows_blind, s.k > 0);
      return;
    }
    add(rows_cut_in_tile, begin % tile_ != 0 || (end < s.k && end % tile_ != 0));
    add(rows_skip_tiles, begin / tile_ > 0 || (end - 1) / tile_ < (s.k - 1) / tile_);
  }

  void values() {
    add(codes_straddled, run_.codes.ambiguous);
    add(codes_zero, run_.codes.zero);
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    for (const oracle::enclosed_tensor& t : run_.bounds.tensors)
      if (t.name == "lse")
        add(lse_sees_nothing,
            std::ranges::count_if(t.elements, [](const oracle::interval& e) { return e.hi == nothing; }));
    for (const oracle::judgement& j : run_.result.judgements)
      if (is_result(operation_, j.tensor)) add(outputs_wide, j.uncertain - j.sharp);
  }

  const attention_case& case_;
  const operation& operation_;
  const detailed_run& run_;
  const std::int64_t tile_;
  feature_counts counts_{};
};

}  // namespace

std::span<const feature, num_features> features() {
  return table;
}

feature_counts count_features(const attention_case& c, const detailed_run& run) {
  return counting(c, run).all();
}

int bucket_of(std::int64_t count) {
  if (count <= 3) return static_cast<int>(std::max<std::int64_t>(count, 0));
  constexpr std::int64_t least[] = {4, 8, 16, 32, 128};
  return 3 + static_cast<int>(std::ranges::upper_bound(least, count) - least);
}

}  // namespace assay
