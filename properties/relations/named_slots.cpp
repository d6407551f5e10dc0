#include <fmt/format.h>

#include <set>

#include "properties/case/slots.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// The first element of a named slot in which the pools differ.
std::optional<std::string> first_difference_in_slots(const outputs& before, const outputs& after, const char* name,
                                                     const attention_case& c) {
  const tensor& x = find_buffer(before.buffers, name)->view();
  const tensor& y = find_buffer(after.buffers, name)->view();
  for (const sequence& s : c.sequences)
    for (std::int64_t row = 0; row < s.q; ++row) {
      const std::int64_t slot = slot_of(c, s, row);
      if (slot < 0) continue;
      const std::int64_t page = slot / c.page_size, at = slot % c.page_size;
      for (std::int64_t h = 0; h < x.shape[2]; ++h)
        for (std::int64_t d = 0; d < x.shape[3]; ++d) {
          const std::uint32_t was = bits_at(x, x.offset(page, at, h, d)), is = bits_at(y, y.offset(page, at, h, d));
          if (was != is)
            return fmt::format("{}[{}, {}, {}, {}] holds 0x{:x} instead of 0x{:x}", name, page, at, h, d, is, was);
        }
    }
  return std::nullopt;
}

/// Runs with other poison in dead memory. The named slots must not depend on it, and by the enclosure of each run the
/// rest of the pool must keep it.
verdict check(const library& lib, const attention_case& c) {
  relation r(named_slots, lib, c);
  attention_case other = c;
  for (const poison_kind poison : {poison_kind::nan, poison_kind::huge, poison_kind::zero}) {
    if (r.decided() || poison == c.data.poison) continue;
    if (poison == poison_kind::nan && lib.support_of(c.kernel).no_dead_nan != 0) continue;
    other.data.poison = poison;
    inputs edited = fill(other);
    const std::string change =
        fmt::format("filling dead memory with {}", boost::describe::enum_to_string(poison, "another poison"));
    const auto ran = r.run(edited, c, change);
    if (!ran) break;
    for (const char* name : {"k", "v"})
      if (const auto wrong = first_difference_in_slots(r.base().written, ran->written, name, c))
        r.fail("after " + change + " " + *wrong);
    const verdict judged = judge_execution(edited, *ran);
    if (judged.result == outcome::fail) r.fail("after " + change + ": " + judged.what);
  }
  return r.conclude();
}

}  // namespace

const property named_slots{"named_slots",
                           "new rows go to their slots and nothing else changes, for any contents of dead memory",
                           check, nullptr, has_slots};

}  // namespace assay::relations
