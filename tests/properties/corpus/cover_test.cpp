#include "properties/corpus/cover.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>

namespace assay::corpus {
namespace {

std::vector<bool> kept(const std::vector<member>& members) {
  std::vector<bool> flags;
  for (const placement& p : cover(members)) flags.push_back(p.is_kept);
  return flags;
}

TEST_CASE("of members with the same features the cheapest is kept") {
  CHECK(kept({{{1, 2}, 9}, {{1, 2}, 3}, {{1, 2}, 5}}) == std::vector{false, true, false});
}

TEST_CASE("a member whose features others have together is let go of, though greed took it first") {
  CHECK(kept({{{1, 2, 3, 4}, 50}, {{1, 2, 5}, 1}, {{3, 4, 6}, 1}}) == std::vector{false, true, true});
}

TEST_CASE("pinned members stay, and what they have need not be kept again") {
  CHECK(kept({{{}, 1, true}, {{1}, 1, true}, {{1}, 1}, {{1, 2}, 1}}) == std::vector{true, true, false, true});
}

TEST_CASE("the kept ones say what they alone have") {
  const std::vector<member> members{{{1, 2}, 1}, {{2, 3}, 1}};
  const auto placed = cover(members);
  CHECK(placed[0].adds == std::vector<std::uint32_t>{1});
  CHECK(placed[1].adds == std::vector<std::uint32_t>{3});
}

TEST_CASE("no feature is lost, whatever the members") {
  std::uint64_t state = 1;  // a linear congruential generator: the same on every machine
  const auto draw = [&](std::uint32_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 33U) % below;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<member> members(1 + draw(40));
    std::set<std::uint32_t> all;
    for (member& m : members) {
      std::set<std::uint32_t> some;
      for (std::uint32_t i = draw(12); i > 0; --i) some.insert(draw(60));
      m = {{some.begin(), some.end()}, draw(100), draw(10) == 0};
      all.insert(some.begin(), some.end());
    }
    std::set<std::uint32_t> left;
    const auto placed = cover(members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      CHECK((placed[i].is_kept || !members[i].is_pinned));
      if (placed[i].is_kept) left.insert(members[i].features.begin(), members[i].features.end());
    }
    CHECK(left == all);
  }
}

}  // namespace
}  // namespace assay::corpus
