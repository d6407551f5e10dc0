#include <fmt/format.h>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

const char* name_of(poison_kind poison) {
  return boost::describe::enum_to_string(poison, "?");
}

verdict check(const library& lib, const attention_case& c) {
  relation r(dead_memory, lib, c);
  attention_case other = c;
  for (const poison_kind poison : {poison_kind::nan, poison_kind::inf, poison_kind::huge, poison_kind::zero}) {
    if (r.decided() || poison == c.data.poison) continue;
    const bool is_number = poison == poison_kind::huge || poison == poison_kind::zero;
    if (!is_number && lib.support_of(c.kernel).no_dead_nan != 0) continue;
    other.data.poison = poison;
    inputs changed = fill(other);
    r.expect_same_bits(changed, c,
                       fmt::format("changing dead memory from {} to {}", name_of(c.data.poison), name_of(poison)));
  }
  return r.conclude();
}

}  // namespace

const property dead_memory{"dead_memory", "the contents of dead memory do not change any output bit", check, nullptr,
                           has_row_outputs};

}  // namespace assay::relations
