#include <fmt/format.h>

#include <optional>
#include <regex>
#include <string>

#include "properties/case/slots.hpp"
#include "properties/relations/adapt.hpp"
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

/// Whether the rows that the message names, if it does, are these: "row 7", "rows 3 and 7". Libraries say more or less.
bool names_rows(const std::string& message, std::int64_t wrong, std::int64_t first) {
  static const std::regex one(R"(\brow (\d+))"), two(R"(\brows (\d+) and (\d+))");
  std::smatch found;
  const auto number = [&](std::size_t i) { return std::stoll(found[i].str()); };
  if (std::regex_search(message, found, two)) return first >= 0 && number(1) == first && number(2) == wrong;
  return !std::regex_search(message, found, one) || number(1) == wrong;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(slot_twice, lib, c);
  if (r.decided()) return r.conclude();
  inputs edited = clone(r.given());
  const std::vector<std::int64_t> rows = written_rows(edited);
  if (rows.size() < 2) r.discard("fewer than two rows are written");
  if (r.decided()) return r.conclude();

  // `first` has the slot that `wrong`, the first wrong row, has too; -1 where it is wrong by itself.
  const auto refuses = [&](const inputs& broken, const char* what, std::int64_t wrong, std::int64_t first = -1) {
    if (r.decided()) return;
    refusal_check calls(lib, c, clone(broken), r.base().planned, r.base().workspace_bytes);
    if (const auto fault = calls.run(r.base().planned, calls.tensors().list(), what, broken_part::data))
      return r.fail(*fault);
    if (!names_rows(calls.message(), wrong, first))
      r.fail(fmt::format("run() refuses {}, but row {} is the first wrong one: '{}'", what, wrong, calls.message()));
  };
  // Half of the time those farthest apart: a kernel may compare rows of a block only.
  const std::size_t last = rows.size() - 1;
  const std::size_t first = c.data.seed % 2 == 0 ? 0 : c.data.seed % last;
  const std::size_t second = c.data.seed % 2 == 0 ? last : first + 1 + c.data.seed / 64 % (last - first);
  slot_at(edited, rows[second]) = slot_at(edited, rows[first]);
  refuses(edited, "a slot that two rows are written to", rows[second], rows[first]);
  const std::int64_t slots = c.pool_pages * c.page_size;
  for (const std::int64_t outside : {slots, slots + (std::int64_t{1} << 32)}) {
    slot_at(edited, rows[second]) = outside;
    refuses(edited, "a slot outside of the pool", rows[second]);
  }
  inputs many = clone(r.given());
  for (std::size_t i = first + 1; i < rows.size(); ++i) slot_at(many, rows[i]) = slot_at(many, rows[first]);
  refuses(many, "a slot that many rows are written to", rows[first + 1], rows[first]);
  for (std::size_t i = first; i < rows.size(); ++i) slot_at(many, rows[i]) = slots + static_cast<std::int64_t>(i);
  refuses(many, "slots outside of the pool", rows[first]);
  if (c.rotary == rotary_kind::none) return r.conclude();
  slot_at(edited, rows[second]) = slot_at(r.given(), rows[second]);
  const std::int64_t tables = rope_rows(c);
  for (const std::int64_t outside : {std::int64_t{-1}, tables}) {
    i32_at(edited, "positions", rows[second]) = static_cast<std::int32_t>(outside);
    refuses(edited, "a position outside of the rotary tables", rows[second]);
  }
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  ensure_sequences(c, 1);
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
    adapt, has_slots | has_long_sequences | refuses_problems};

}  // namespace assay::relations
