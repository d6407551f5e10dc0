#include <fmt/format.h>

#include <algorithm>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

// execute() has compared the inputs and all guard bands already. What is left: an output that is not written keeps what
// it held, and one that is added to depends on it, so what outputs hold before the run must not show.
verdict check(const library& lib, const attention_case& c) {
  relation r(nothing_else_written, lib, c);
  for (const int byte : {0x00, 0x5A}) {
    if (r.decided()) break;
    inputs same = clone(r.given());
    outputs prepared = make_outputs(r.base().planned);
    for (buffer& b : prepared.buffers) std::ranges::fill(b.bytes(), static_cast<std::byte>(byte));
    const std::string change = fmt::format("outputs held the byte 0x{:02x} before the run", byte);
    const execution ran = execute_planned(lib, c, same, r.base().planned, std::move(prepared));
    if (auto v = verdict_of(ran)) return *v;
    r.compare(r.base().written, ran.written, change);
  }
  return r.result();
}

}  // namespace

const property nothing_else_written{
    "nothing_else_written", "nothing outside the outputs is written, and every element of them is", check, nullptr};

}  // namespace assay::relations
