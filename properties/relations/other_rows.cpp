#include <fmt/format.h>

#include <optional>
#include <utility>

#include "properties/case/operation.hpp"
#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// A row of outputs belongs to a query row and to one head. Logits are sums over the heads: they have no head.
struct output_row {
  std::int64_t query;
  std::optional<std::int64_t> head;
};

/// An input with data for every query row.
struct row_input {
  const char* name;
  std::size_t query_axis;
  std::size_t head_axis;
};
constexpr row_input row_inputs[] = {{"q", 0, 1}, {"weights", 0, 1}, {"bias", 1, 0}};

/// Gives all rows but one other queries, weights and bias; NaN where `poisons`.
inputs with_others_altered(const inputs& in, const output_row& kept, bool poisons) {
  inputs altered = clone(in);
  for (const row_input& of : row_inputs) {
    const buffer* b = find_buffer(altered.buffers, of.name);
    if (b == nullptr) continue;
    const tensor& t = b->view();
    for_each_index(*b, [&](const std::vector<std::int64_t>& index) {
      if (index[of.query_axis] == kept.query && index[of.head_axis] == kept.head.value_or(index[of.head_axis])) return;
      const std::int64_t at = offset_of(t, index);
      set_bits(t, at, poisons ? poison_bits(t.type) : other_bits(t.type, bits_at(t, at)));
    });
  }
  return altered;
}

outputs only(const outputs& out, const output_row& kept) {
  outputs row = gather_outputs(out, output_axis::rows, {kept.query});
  return kept.head ? gather_outputs(row, output_axis::heads, {*kept.head}) : std::move(row);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(other_rows, lib, c, other_runs::unchecked);
  const std::int64_t rows = first_row_of(r.given(), r.given().stated.num_seqs);  // padding rows are not compared
  if (rows == 0 || r.given().stated.total_q < 2) r.discard("there is only one row");
  if (r.decided()) return r.conclude();
  const auto of = [](std::uint64_t seed, std::int64_t count) {
    return static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(count));
  };
  output_row kept{of(c.data.seed, rows), std::nullopt};
  if ((describe(c).capabilities & has_softmax) != 0) kept.head = of(c.data.seed / 64, c.heads_q);
  const outputs expected = only(r.base().written, kept);
  for (const bool poisons : {false, true}) {
    if (poisons && lib.support_of(c.kernel).no_live_nan != 0) continue;
    inputs altered = with_others_altered(r.given(), kept, poisons);
    const std::string head = kept.head ? fmt::format(" and head {}", *kept.head) : "";
    const std::string change = fmt::format("{} the queries, weights and bias of all but row {}{}, there,",
                                           poisons ? "poisoning" : "altering", kept.query, head);
    if (const auto ran = r.run(altered, c, change)) r.compare(expected, only(ran->written, kept), change);
  }
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& takes) {
  const bool has_one_row = takes.most_rows == 1;
  ensure_sequences(c, has_one_row ? 2 : 1);
  ensure_rows(c, 0, has_one_row ? 1 : 2);
  if (has_one_row) ensure_rows(c, 1, 1);
}

}  // namespace

const property other_rows{"other_rows", "a row's outputs do not depend on its neighbours", check, adapt,
                          has_mask | has_several_rows};

}  // namespace assay::relations
