#include <fmt/format.h>

#include "properties/alter.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Gives all rows but one other queries and weights; NaN where `poisons`.
inputs with_others_altered(const inputs& in, std::int64_t kept, bool poisons) {
  inputs altered = clone(in);
  for (const char* name : {"q", "weights"}) {
    const buffer& b = *find_buffer(altered.buffers, name);
    const tensor& t = b.view();
    for_each_index(b, [&](const std::vector<std::int64_t>& index) {
      if (index[0] == kept) return;
      const std::int64_t at = offset_of(t, index);
      set_bits(t, at, poisons ? poison_bits(t.type) : other_bits(t.type, bits_at(t, at)));
    });
  }
  return altered;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(other_rows, lib, c);
  const std::int64_t rows = r.given().stated.total_q;
  if (rows < 2) r.discard("there is only one row");
  if (r.decided()) return r.result();
  const auto kept = static_cast<std::int64_t>(c.data.seed % static_cast<std::uint64_t>(rows));
  const outputs expected = gather_outputs(r.base().written, output_axis::rows, {kept});
  for (const bool poisons : {false, true}) {
    inputs altered = with_others_altered(r.given(), kept, poisons);
    const std::string change = fmt::format("{} the queries and weights of all rows but row {}, in that row,",
                                           poisons ? "poisoning" : "altering", kept);
    if (const auto ran = r.run(altered, c, change))
      r.compare(expected, gather_outputs(ran->written, output_axis::rows, {kept}), change);
  }
  return r.result();
}

void adapt(attention_case& c) {
  ensure_sequences(c, 1);
  ensure_rows(c, 0, 2);
}

bool is_about(std::string_view kernel) {
  return !computes_attention(kernel);
}

}  // namespace

const property other_rows{"other_rows", "a row's logits do not depend on its neighbours", check, adapt, is_about};

}  // namespace assay::relations
