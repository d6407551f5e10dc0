#include <fmt/format.h>

#include "oracle/enclosure.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

constexpr std::uint32_t minus_infinity = 0xFF800000U, unwritten = oracle::unwritten_byte * 0x01010101U;

/// Checks that common columns, where `compares_bits`, hold the same bits and that the additional columns of `wider` are
/// hidden.
std::optional<std::string> first_difference_in_columns(const outputs& before, const outputs& wider, bool fills_hidden,
                                                       bool compares_bits) {
  const tensor& x = find_buffer(before.buffers, "logits")->view();
  const tensor& y = find_buffer(wider.buffers, "logits")->view();
  for (std::int64_t row = 0; row < y.shape[0]; ++row)
    for (std::int64_t column = 0; column < y.shape[1]; ++column) {
      if (column < x.shape[1] && !compares_bits) continue;
      const std::uint32_t expected = column < x.shape[1] ? bits_at(x, x.offset(row, column))
                                     : fills_hidden      ? minus_infinity
                                                         : unwritten;
      const std::uint32_t found = bits_at(y, y.offset(row, column));
      if (found != expected)
        return fmt::format("logits[{}, {}] holds 0x{:08x} instead of 0x{:08x}", row, column, found, expected);
    }
  return std::nullopt;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(more_columns, lib, c);
  for (const std::int32_t more : {1, 64, 257}) {
    if (r.decided()) break;
    if (const std::int64_t most = lib.support_of(c.kernel).most_columns; most != 0 && c.max_model_len + more > most)
      continue;
    inputs longer = clone(r.given());
    longer.stated.max_model_len += more;
    const std::string change = fmt::format("adding {} columns", more);
    if (const auto ran = r.run(longer, c, change))
      if (const auto wrong =
              first_difference_in_columns(r.base().written, ran->written, c.fills_hidden, r.compares_bits()))
        r.fail("after " + change + " " + *wrong);
  }
  return r.conclude();
}

}  // namespace

const property more_columns{"more_columns",
                            "a larger max_model_len only adds hidden columns and does not change any other output bit",
                            check, nullptr, has_columns};

}  // namespace assay::relations
