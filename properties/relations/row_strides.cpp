#include <fmt/format.h>

#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Margins of outputs and of inputs. Dense; the least, which no vector's alignment survives; and the widest load of
/// any GPU here, 16 bytes, of every type (K and V get no other).
struct layout {
  std::int32_t row_margin;
  std::int32_t input_margin;
};
constexpr layout layouts[] = {{0, 0}, {1, 1}, {16, 16}};

/// A case at the limit of memory has no room for margins.
bool has_room(const attention_case& c) {
  try {
    validate(c);
    return true;
  } catch (const case_error&) {
    return false;
  }
}

verdict check(const library& lib, const attention_case& c) {
  relation r(row_strides, lib, c);
  for (const layout& l : layouts) {
    attention_case other = c;
    other.row_margin = l.row_margin;
    other.input_margin = l.input_margin;
    if (r.decided() || other == c || !has_room(other)) continue;
    inputs laid_out = fill(other);
    r.expect_same_bits(laid_out, other,
                       fmt::format("laying the rows of outputs {} elements apart and those of inputs {}", l.row_margin,
                                   l.input_margin));
  }
  return r.conclude();
}

}  // namespace

const property row_strides{"row_strides", "the distance between rows of a tensor does not change any output bit", check,
                           nullptr};

}  // namespace assay::relations
