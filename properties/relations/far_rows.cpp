#include <fmt/format.h>

#include <algorithm>

#include "properties/case/tensor_plan.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/relations/adapt.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

bool has_far_tensors(const std::vector<planned_tensor>& tensors) {
  return std::ranges::any_of(tensors, &planned_tensor::is_far);
}

verdict check(const library& lib, const attention_case& c) {
  relation r(far_rows, lib, c);
  bool is_shown = false;
  for (std::int32_t dimension = 1; dimension < max_rank && !r.decided(); ++dimension) {
    attention_case other = c;
    other.far_dimension = dimension;
    if (!unsupported_by(lib.support_of(c.kernel), other).empty()) continue;
    if (!has_far_tensors(plan_tensors(other)) && !has_far_tensors(plan_outputs(r.base().planned, layout_of(other))))
      continue;
    is_shown = true;
    inputs laid_out = fill(other);
    r.expect_same_bits(
        laid_out, other,
        fmt::format("laying the indices of dimension {} of every tensor over {} GiB", dimension - 1, far_bytes >> 30));
  }
  if (!is_shown) r.discard("no tensor has a dimension that can lie far apart");
  return r.conclude();
}

/// No more rows than can lie far apart, those of the padding too. The first sequence keeps some.
void limit_rows(attention_case& c) {
  c.padding_rows = std::min(c.padding_rows, static_cast<std::int32_t>(far_indices_max / 2));
  const auto most = static_cast<std::int32_t>(far_indices_max) - c.padding_rows;
  for (sequence& s : c.sequences) s.q = std::min(s.q, most);
  std::int64_t rows = 0;
  const auto fits = [&](const sequence& s) { return (rows += s.q) <= most; };
  const auto end = std::ranges::find_if_not(c.sequences, fits);
  c.sequences.erase(end, c.sequences.end());
}

/// Most tensors have an index for every row.
void adapt(attention_case& c, const assay_support& takes) {
  const bool has_one_row = takes.most_rows == 1;
  ensure_sequences(c, has_one_row ? 2 : 1);
  ensure_rows(c, 0, has_one_row ? 1 : 2);
  if (has_one_row) ensure_rows(c, 1, 1);
  limit_rows(c);
}

}  // namespace

const property far_rows{"far_rows", "tensors whose rows, heads or splits lie 32 GiB apart give the same output bits",
                        check, adapt, has_several_rows | has_far_strides};

}  // namespace assay::relations
