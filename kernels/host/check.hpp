/// What every kernel's host side asks of a problem, and how it says no.
#pragma once

#include <cstdint>

#include "kernels/library.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Grid extents y and z of every platform end here.
inline constexpr std::int64_t max_grid_extent = 65535;

/// ASSAY_OK, or ASSAY_REJECTED where the scalars make no problem, naming the field. `planned`: num_splits must be
/// chosen. What a kernel supports of the legal problems is its own business.
assay_status check_problem(const problem* p, bool planned);

/// ASSAY_OK where the problem is of the operation that `kernel` computes.
assay_status check_operation(const problem& p, operation_kind computed, const char* kernel);

/// A status with a formatted message.
[[gnu::format(printf, 2, 3)]] assay_status refuse(std::int32_t code, const char* format, ...);

}  // namespace assay
