#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

verdict check(const library& lib, const attention_case& c) {
  relation r(slot_order, lib, c);
  const std::int64_t rows = r.given().stated.total_q;
  if (rows < 2) r.discard("there is only one row");
  if (r.decided()) return r.conclude();
  inputs permuted = clone(r.given());
  const std::vector<std::int64_t> order = permutation(rows, c.data.seed);
  for (const char* name : {"k_new", "v_new", "slots", "positions"}) gather_input(permuted, name, 0, order);
  r.expect_same_bits(permuted, c, "permuting the new rows");
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  ensure_sequences(c, 1);
  std::int64_t rows = 0;
  for (const sequence& s : c.sequences) rows += s.q;
  if (rows < 2) ensure_rows(c, 0, 2);
}

}  // namespace

const property slot_order{"slot_order", "the order of new rows does not change any output bit", check, adapt,
                          has_slots | has_long_sequences};

}  // namespace assay::relations
