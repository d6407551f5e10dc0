#include <algorithm>
#include <random>
#include <unordered_map>

#include "properties/data/pages.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Where each page of a dense pool goes, dead ones included.
std::vector<page_move> permute_all(std::int64_t num_pages, std::uint64_t seed) {
  const std::vector<std::int64_t> to = permutation(num_pages, seed);
  std::vector<page_move> moves;
  moves.reserve(to.size());
  for (std::int64_t page = 0; page < num_pages; ++page) moves.push_back({page, to[static_cast<std::size_t>(page)]});
  return moves;
}

/// Where each page in use goes: to the place of another one, or to an unused place anywhere in the pool.
std::vector<page_move> permute_used(const std::vector<std::int64_t>& used, std::int64_t num_pages, std::uint64_t seed) {
  std::vector<std::int64_t> places = used;
  std::mt19937_64 random(seed);
  constexpr std::size_t most_unused = 16;
  for (std::size_t n = std::min(most_unused, used.size()); n > 0; --n) {
    const auto place = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(num_pages));
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  const std::vector<std::int64_t> order = permutation(static_cast<std::int64_t>(places.size()), seed);
  std::vector<page_move> moves;
  moves.reserve(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) moves.push_back({used[i], places[static_cast<std::size_t>(order[i])]});
  return moves;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(page_permutation, lib, c, other_runs::unchecked);
  if (c.pool_pages < 2) r.discard("the pool has fewer than two pages");
  if (r.decided()) return r.conclude();

  inputs permuted = clone(r.given());
  const bool is_whole =
      std::ranges::none_of(r.given().buffers, [](const buffer& b) { return b.backing().used.has_value(); });
  const std::vector<page_move> moves = is_whole ? permute_all(c.pool_pages, c.data.seed)
                                                : permute_used(pages_in_use(r.given()), c.pool_pages, c.data.seed);
  repage(permuted, c.pool_pages, moves);
  std::unordered_map<std::int64_t, std::int64_t> to;
  for (const page_move& m : moves) to[m.from] = m.to;
  for_each_page(permuted,
                [&](std::int64_t, std::int64_t, std::int32_t& page) { page = static_cast<std::int32_t>(to.at(page)); });
  r.expect_same_bits(permuted, c, "permuting the physical pages");
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  if (c.pool_pages < 2) c.pool_pages = 3;
}

}  // namespace

const property page_permutation{"page_permutation", "permuting physical pages does not change any output bit", check,
                                adapt, has_page_tables};

}  // namespace assay::relations
