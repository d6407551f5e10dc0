#include <optional>

#include "properties/case/slots.hpp"
#include "properties/relations/refusal.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

std::int64_t& slot_at(inputs& in, std::int64_t row) {
  return static_cast<std::int64_t*>(find_buffer(in.buffers, "slots")->view().data)[row];
}
std::int64_t slot_at(const inputs& in, std::int64_t row) {
  return static_cast<const std::int64_t*>(find_buffer(in.buffers, "slots")->view().data)[row];
}

/// The rows that are written, in ascending order.
std::vector<std::int64_t> written_rows(inputs& in) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < in.stated.total_q; ++row)
    if (slot_at(in, row) >= 0) rows.push_back(row);
  return rows;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(slot_twice, lib, c);
  if (r.decided()) return r.conclude();
  inputs edited = clone(r.given());
  const std::vector<std::int64_t> rows = written_rows(edited);
  if (rows.size() < 2) r.discard("fewer than two rows are written");
  if (r.decided()) return r.conclude();

  const auto refuses = [&](const inputs& broken, const char* what) {
    refusal_check calls(lib, c, clone(broken), r.base().planned);
    if (const auto wrong = calls.run(r.base().planned, calls.tensors().list(), what)) r.fail(*wrong);
  };
  // Half of the time those farthest apart: a kernel may compare rows of a block only.
  const std::size_t last = rows.size() - 1;
  const std::size_t first = c.data.seed % 2 == 0 ? 0 : c.data.seed % last;
  const std::size_t second = c.data.seed % 2 == 0 ? last : first + 1 + c.data.seed / 64 % (last - first);
  slot_at(edited, rows[second]) = slot_at(edited, rows[first]);
  refuses(edited, "a slot that two rows are written to");
  const std::int64_t slots = c.pool_pages * c.page_size;
  for (const std::int64_t outside : {slots, slots + (std::int64_t{1} << 32)}) {
    slot_at(edited, rows[second]) = outside;
    refuses(edited, "a slot outside of the pool");
  }
  if (c.rotary == rotary_kind::none) return r.conclude();
  slot_at(edited, rows[second]) = slot_at(r.given(), rows[second]);
  const std::int64_t tables = rope_rows(c);
  for (const std::int64_t outside : {std::int64_t{-1}, tables}) {
    i32_at(edited, "positions", rows[second]) = static_cast<std::int32_t>(outside);
    refuses(edited, "a position outside of the rotary tables");
  }
  return r.conclude();
}

void adapt(attention_case& c) {
  sequence& first = c.sequences.front();
  first.q = std::max(first.q, 2);
  first.prefix_offset.reset();
  for (sequence& s : c.sequences) s.prefix_offset.reset();
  if (first.k >= 2) return;
  first.k = 2;
  while (static_cast<std::int64_t>(first.pages.size()) * c.page_size < 2) first.pages.push_back(c.pool_pages++);
}

}  // namespace

const property slot_twice{
    "slot_twice",
    "the library refuses a slot that is given twice or lies outside the pool, and a position outside the tables", check,
    adapt, has_slots};

}  // namespace assay::relations
