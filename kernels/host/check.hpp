/// Checks of a problem that all kernels share, and the status that refuses it.
#pragma once

#include <cstdint>

#include "kernels/library.h"
#include "kernels/problem.hpp"

namespace assay {

/// The largest grid extent in y and z on every platform.
inline constexpr std::int64_t max_grid_extent = 65535;

/// The most blocks of so many threads in x: HIP counts the threads of a dimension in 32 bits.
constexpr std::int64_t max_grid_blocks(std::int64_t threads) {
  return ((std::int64_t{1} << 32) - 1) / threads;
}

/// ASSAY_OK, or ASSAY_REJECTED with the name of the field if the scalars are invalid. `planned`: num_splits must be
/// chosen. Each kernel itself refuses legal problems that it does not support.
assay_status check_problem(const problem* p, bool planned);

/// The same of num_seqs, max_q and max_k, for operations whose rows belong to sequences.
assay_status check_sequences(const problem& p);

/// ASSAY_OK if `kernel` computes the operation of the problem, which has passed check_problem.
assay_status check_operation(const problem& p, operation_kind computed, const char* kernel);

/// All of these, of a problem of attention.
assay_status check_attention(const problem* p, bool planned, const char* kernel);

/// Plans attention for a kernel that takes the splits that it is asked for, and one if it may choose. ASSAY_UNSUPPORTED
/// if their partials exceed the budget; 0 means 1 GiB. `p` has passed check_attention.
assay_status plan_as_asked(const problem& p, std::int64_t budget_bytes, assay_plan& plan);

/// A status with a formatted message.
[[gnu::format(printf, 2, 3)]] assay_status refuse(std::int32_t code, const char* format, ...);

}  // namespace assay
