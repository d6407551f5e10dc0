/// Rows, waves and LDS of batch_prefill's blocks, by the problem's extents and the device's LDS.
#pragma once

#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Whether warpgroups multiply, on the current device, with waves of so many lanes. Their tiles must not cross pages
/// that have descales.
bool prefill_by_groups(const problem& p, int lanes);

/// Four waves; where some sequence has rows for more than two such blocks, as many as prefill_most_threads has. The
/// ring has as many slots as fit into the LDS. `p` has passed the kernel's checks; `lanes`: of a wave; `keeps_q`: Q
/// stays in LDS. Where warpgroups multiply: `by_groups` and `rows` alone.
prefill_shape prefill_shape_of(const problem& p, int lanes, bool keeps_q);

/// Row tiles of the sequence with most rows.
std::int32_t prefill_row_tiles(const problem& p, std::int32_t rows_of_block);

}  // namespace assay
