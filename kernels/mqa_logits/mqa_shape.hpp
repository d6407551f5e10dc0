/// Query rows and LDS of mqa_logits' blocks, and into how many parts contexts are cut.
#pragma once

#include <cstdint>

#include "kernels/mqa_logits/mqa_logits_arguments.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Whether a launch with waves of so many lanes has a form of its own for heads: that of warpgroups.
bool mqa_by_groups(const problem& p, int lanes);

/// `p` has passed the kernel's checks; `lanes`: of a wave.
mqa_shape mqa_shape_of(const problem& p, int lanes);

/// Query rows of a block: at least one, and all of a sequence, as far as the shape has room.
std::int32_t mqa_block_rows(const problem& p, const mqa_shape& shape);

/// Keys of which parts are multiples, so that no two share a page.
std::int64_t mqa_part_unit(const problem& p);
/// Such units in the longest context.
std::int64_t mqa_units_of_longest(const problem& p);

/// Into how many parts the longest context should be cut for all compute units to have the same work.
std::int32_t mqa_splits(const problem& p, const mqa_shape& shape);

}  // namespace assay
