#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// The same of padding rows, which belong to no sequence.
std::optional<std::string> leave_padding_as_in_base(const inputs& in, outputs& written, int byte) {
  const std::int64_t end = first_row_of(in, in.stated.num_seqs);
  std::optional<std::string> found;
  if (end == in.stated.total_q) return found;
  for (buffer& b : written.buffers) {
    const tensor& t = b.view();
    const std::size_t row_axis = b.name().ends_with("_partial") ? 1 : 0;
    const std::uint32_t mask = size_bytes(t.type) == 4 ? ~0U : size_bytes(t.type) == 2 ? 0xFFFFU : 0xFFU;
    for_each_index(t, [&](const std::vector<std::int64_t>& index) {
      if (index[row_axis] < end) return;
      const std::int64_t at = offset_of(t, index);
      if (!found && bits_at(t, at) != (static_cast<std::uint32_t>(byte) * in_all_bytes & mask))
        found = fmt::format("{}[{}] of a row behind the last sequence's was written: it holds 0x{:0{}x}", b.name(),
                            fmt::join(index, ", "), bits_at(t, at), 2 * size_bytes(t.type));
      set_bits(t, at, oracle::unwritten_byte * in_all_bytes & mask);
    });
  }
  return found;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(nothing_else_written, lib, c, other_runs::unchecked);
  for (const int byte : {0x00, 0x5A}) {
    if (r.decided()) break;
    inputs same = clone(r.given());
    outputs prepared = r.unwritten(same);
    for (buffer& b : prepared.buffers)
      for (const index_range& part : b.accessible()) std::ranges::fill(b.bytes(part), static_cast<std::byte>(byte));
    const std::string change = fmt::format("outputs held the byte 0x{:02x} before the run", byte);
    execution ran =
        execute_planned(lib, c, same, r.base().planned, r.base().workspace_bytes, std::move(prepared), {1, false});
    if (auto v = verdict_of(ran)) return *v;
    if (const auto written = leave_as_in_base(r.given(), ran.written, byte))
      r.fail("where " + change + ", " + *written);
    if (const auto written = leave_padding_as_in_base(r.given(), ran.written, byte))
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
