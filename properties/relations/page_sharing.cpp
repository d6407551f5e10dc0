#include <unordered_set>

#include "properties/data/pages.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

verdict check(const library& lib, const attention_case& c) {
  relation r(page_sharing, lib, c, other_runs::unchecked);
  if (r.decided()) return r.conclude();

  // In the new pool every table entry has its own page, in table order.
  inputs unshared = clone(r.given());
  std::vector<page_move> moves;
  std::unordered_set<std::int64_t> used;
  bool shared = false;
  for_each_page(unshared, [&](std::int64_t, std::int64_t, std::int32_t& page) {
    shared = shared || !used.insert(page).second;
    const auto own = static_cast<std::int64_t>(moves.size());
    moves.push_back({page, own});
    page = static_cast<std::int32_t>(own);
  });
  if (!shared) r.discard("no page is shared");
  repage(unshared, static_cast<std::int64_t>(moves.size()), moves);
  r.expect_same_bits(unshared, c, "giving every sequence private copies of its pages");
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  ensure_sequences(c, 2);
  ensure_keys(c, 0, 1);
  ensure_keys(c, 1, 1);
  c.sequences[1].pages[0] = c.sequences[0].pages[0];
}

}  // namespace

const property page_sharing{"page_sharing", "sharing a page between sequences does not change any output bit", check,
                            adapt, has_page_tables | has_several_sequences};

}  // namespace assay::relations
