#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/data/pages.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Where offsets of bytes wrap in 31 and 32 bits, and, at 2^35, those of elements of up to 4 bytes, too.
constexpr int shifts_log2[] = {31, 32, 35};

/// As many pages as are at least 2^log2 bytes in each of K and, where there is one, V.
std::int64_t pages_of(const inputs& in, int log2) {
  std::int64_t page = page_bytes(*find_buffer(in.buffers, "k"));
  if (const buffer* v = find_buffer(in.buffers, "v")) page = std::min(page, page_bytes(*v));
  return ((std::int64_t{1} << log2) + page - 1) / page;
}

/// The whole pool, dead pages of a dense one included, behind `pages` others.
inputs shifted(const inputs& in, std::int64_t pages) {
  inputs moved = clone(in);
  std::vector<page_move> moves;
  for (const index_range& run : find_buffer(in.buffers, "k")->used())
    if (run.size() > 0) moves.push_back({run.begin, run.begin + pages, run.size()});
  repage(moved, in.stated.num_pages + pages, moves);
  for_each_page(
      moved, [&](std::int64_t, std::int64_t, std::int32_t& page) { page = static_cast<std::int32_t>(page + pages); });
  return moved;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(pool_shift, lib, c);
  int shifted_by = 0;
  for (const int log2 : shifts_log2) {
    const std::int64_t pages = pages_of(r.given(), log2);
    const std::int64_t most = lib.support_of(c.kernel).most_pages;
    if (most != 0 && c.pool_pages + pages > most) continue;
    if (const std::int64_t bytes = lib.support_of(c.kernel).most_pool_bytes; bytes != 0 && bytes >> log2 < 2) continue;
    if (r.decided() || c.pool_pages + pages > std::numeric_limits<std::int32_t>::max()) continue;
    inputs moved = shifted(r.given(), pages);
    r.expect_same_bits(moved, c, fmt::format("shifting the pool by 2^{} bytes", log2));
    ++shifted_by;
  }
  if (shifted_by == 0) r.discard("the pool has so many pages that no shift keeps their ids below 2^31");
  return r.conclude();
}

}  // namespace

const property pool_shift{"pool_shift", "shifting the pool by 2^31, 2^32 or 2^35 bytes does not change any output bit",
                          check, nullptr, has_page_tables | has_far_pages};

}  // namespace assay::relations
