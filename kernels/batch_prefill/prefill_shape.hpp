/// Rows, waves and LDS of batch_prefill's blocks, by the problem's extents and the device's LDS.
#pragma once

#include <cstdint>

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Four waves; where more fit into prefill_most_threads and some sequence has rows for them, as many as fit. The ring
/// has as many slots as fit into a block's LDS. `p` has passed the kernel's checks; `lanes`: of a wave.
prefill_shape prefill_shape_of(const problem& p, int lanes);

/// Row tiles of the sequence with most rows.
std::int32_t prefill_row_tiles(const problem& p, std::int32_t rows_of_block);

}  // namespace assay
