#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

verdict check(const library& lib, const attention_case& c) {
  relation r(page_permutation, lib, c);
  if (c.pool_pages < 2) r.discard("the pool has fewer than two pages");
  if (r.decided()) return r.result();

  const std::vector<std::int64_t> old_of = permutation(c.pool_pages, c.data.seed);
  std::vector<std::int32_t> new_of(old_of.size());
  for (std::size_t i = 0; i < old_of.size(); ++i)
    new_of[static_cast<std::size_t>(old_of[i])] = static_cast<std::int32_t>(i);

  inputs permuted = clone(r.given());
  for (const char* name : {"k", "v", "k_descale", "v_descale"}) gather_input(permuted, name, 0, old_of);
  for_each_page(permuted,
                [&](std::int64_t, std::int64_t, std::int32_t& page) { page = new_of[static_cast<std::size_t>(page)]; });
  r.expect_same_bits(permuted, c, "permuting the physical pages");
  return r.result();
}

void adapt(attention_case& c) {
  if (c.pool_pages < 2) c.pool_pages = 3;
}

}  // namespace

const property page_permutation{"page_permutation", "permuting physical pages moves no bit", check, adapt};

}  // namespace assay::relations
