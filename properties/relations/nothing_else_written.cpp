#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "oracle/enclosure.hpp"

#include "properties/data/difference.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

// execute() has already compared the inputs and all guard bands. This property runs with other initial contents of the
// outputs. If the kernel does not write an element, or adds to it, the result shows the initial contents.
constexpr std::uint32_t in_all_bytes = 0x01010101U;

/// Checks that the columns that must not be written still hold `byte`, then sets them to the bits of the base run.
/// Returns a sentence about the first written column, if there is one.
std::optional<std::string> leave_as_in_base(const inputs& in, outputs& written, int byte) {
  buffer* logits = find_buffer(written.buffers, "logits");
  if (logits == nullptr || in.stated.fills_hidden != 0) return std::nullopt;
  const tensor& t = logits->view();
  const std::int64_t rows = std::max(in.stated.max_q, 1);
  for (std::int64_t row = 0; row < t.shape[0]; ++row)
    for (std::int64_t column = 0; column < t.shape[1]; ++column) {
      if (is_visible(in, row / rows, row % rows, column)) continue;
      const std::int64_t at = t.offset(row, column);
      if (bits_at(t, at) != static_cast<std::uint32_t>(byte) * in_all_bytes)
        return fmt::format("logits[{}, {}] was written: it holds 0x{:08x}", row, column, bits_at(t, at));
      set_bits(t, at, oracle::unwritten_byte * in_all_bytes);
    }
  return std::nullopt;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(nothing_else_written, lib, c);
  for (const int byte : {0x00, 0x5A}) {
    if (r.decided()) break;
    inputs same = clone(r.given());
    outputs prepared = make_outputs(r.base().planned, c.row_margin);
    for (buffer& b : prepared.buffers) std::ranges::fill(b.bytes(), static_cast<std::byte>(byte));
    const std::string change = fmt::format("outputs held the byte 0x{:02x} before the run", byte);
    execution ran = execute_planned(lib, c, same, r.base().planned, std::move(prepared));
    if (auto v = verdict_of(ran)) return *v;
    if (const auto written = leave_as_in_base(r.given(), ran.written, byte))
      r.fail("where " + change + ", " + *written);
    r.compare(r.base().written, ran.written, change);
  }
  return r.conclude();
}

}  // namespace

const property nothing_else_written{"nothing_else_written",
                                    "the kernel writes every output element and nothing outside the outputs", check,
                                    nullptr, has_row_outputs};

}  // namespace assay::relations
