// How large the cases of a run of any length are.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/arbitrary.hpp"
#include "tests/properties/generate/whole_suite.hpp"

using namespace assay;

namespace {

constexpr std::int64_t tile_keys = 64;

/// Of the launches of attention: how many have so many tiles or more in a split, and how many use two splits.
struct spread {
  int launches = 0;
  int two_tiles = 0;
  int three_tiles = 0;
  int split = 0;
  int two_splits = 0;
};

/// Tiles with a key that some row of the sequence sees, of each split.
std::vector<std::int64_t> tiles_of_splits(const attention_case& c, const sequence& s) {
  std::vector<std::int64_t> tiles(static_cast<std::size_t>(std::max(c.num_splits, 1)));
  if (s.q == 0) return tiles;
  const key_range seen = describe(c).live_keys(c, s);
  const auto per_split = pages_for(pages_for(s.k, tile_keys), static_cast<std::int64_t>(tiles.size()));
  for (std::int64_t tile = seen.first / tile_keys; tile < pages_for(seen.end, tile_keys); ++tile)
    ++tiles[static_cast<std::size_t>(tile / per_split)];
  return tiles;
}

void count(spread& of, const attention_case& c) {
  if ((describe(c).capabilities & has_softmax) == 0) return;
  std::int64_t most = 0, used = 0;
  for (const sequence& s : c.sequences) {
    const std::vector<std::int64_t> tiles = tiles_of_splits(c, s);
    most = std::max(most, std::ranges::max(tiles));
    used = std::max<std::int64_t>(used, std::ranges::count_if(tiles, [](std::int64_t n) { return n > 0; }));
  }
  ++of.launches;
  of.two_tiles += most >= 2 ? 1 : 0;
  of.three_tiles += most >= 3 ? 1 : 0;
  of.split += c.num_splits > 1 ? 1 : 0;
  of.two_splits += c.num_splits > 1 && used >= 2 ? 1 : 0;
}

}  // namespace

TEST_CASE("the first 250 cases of a run have several tiles and several splits often", "[sizes]") {
  int split = 0, two_splits = 0;  // of all seeds: a run has some 40, too few for a share of its own
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const suite_options options = testing::whole_suite(seed);
    spread of;
    for (std::int64_t index = 0; index < 250; ++index) count(of, suite_case(options, index));
    INFO("seed " << seed << ": " << of.launches << " launches, two tiles " << of.two_tiles << ", three "
                 << of.three_tiles << "; with splits " << of.split << ", two of them used " << of.two_splits);
    CHECK(of.two_tiles >= 0.30 * of.launches);
    CHECK(of.three_tiles >= 0.15 * of.launches);
    CHECK(of.split >= 0.15 * of.launches);
    split += of.split;
    two_splits += of.two_splits;
  }
  INFO(two_splits << " of " << split << " launches with splits use two");
  CHECK(two_splits >= 0.5 * split);
}

TEST_CASE("every stretch of a run has small, middle and large sizes alike", "[sizes]") {
  constexpr std::int64_t properties_of_run = 23, stretch = 250;
  for (std::int64_t begin = 0; begin < 4000; begin += 125) {
    std::map<int, int> quarters;
    for (std::int64_t i = begin; i < begin + stretch; ++i)
      ++quarters[std::min(3, size_of(i / properties_of_run, i % properties_of_run) / 25)];
    for (int quarter = 0; quarter < 4; ++quarter) {
      INFO("cases from " << begin << ", quarter " << quarter << ": " << quarters[quarter]);
      CHECK(quarters[quarter] >= stretch / 5);
    }
  }
}

TEST_CASE("a property meets every size in 101 rounds, and all quarters in any six", "[sizes]") {
  for (std::int64_t place = 0; place < 40; ++place) {
    std::set<int> sizes;
    for (std::int64_t round = 0; round < 101; ++round) sizes.insert(size_of(round, place));
    CHECK(sizes.size() == 101);
    CHECK(*sizes.begin() == 0);
    CHECK(*sizes.rbegin() == 100);
    for (std::int64_t round = 0; round < 200; ++round) {
      std::set<int> quarters;
      for (std::int64_t i = round; i < round + 6; ++i) quarters.insert(std::min(3, size_of(i, place) / 25));
      CHECK(quarters.size() == 4);
    }
  }
}
