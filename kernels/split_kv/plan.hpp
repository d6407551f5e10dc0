/// The host planner of split_kv: says what it supports, chooses the number of splits and sizes the workspace.
#pragma once

#include <cstdint>

#include "kernels/library.h"
#include "kernels/problem.hpp"
#include "kernels/split_kv/shape.hpp"

namespace assay {

/// What the planner wants to know of a device.
struct device_facts {
  std::int64_t memory_bytes = 0;  ///< 0 = unknown
  int compute_units = 1;
  split_kv_device shape{};
};

/// rocMLIR PR 2371's rule: an eighth of the device's memory within [1 GiB, 8 GiB], 1.5 GiB when unknown.
std::int64_t default_workspace_budget_bytes(std::int64_t device_memory_bytes);

/// Bytes of o_partial and lse_partial; 0 with one split. Saturates at the largest int64.
std::int64_t workspace_bytes(const problem& p, std::int32_t num_splits);

/// Row tiles of a sequence with max_q rows: blocks of the group's rows. Fits where check_split_kv accepts.
std::int32_t split_kv_row_tiles(const problem& p, std::int32_t rows_of_block);

/// ASSAY_OK, or ASSAY_UNSUPPORTED with the reason. `p` has passed check_problem.
assay_status check_split_kv(const problem& p);

/// As assay_kernel::plan. Budget 0 means the default one. Asked for a number of splits, keeps to it or refuses;
/// left to choose, takes as many as the device has room for, with some groups of keys each and within the budget.
assay_status plan_splits(const problem& p, std::int64_t budget_bytes, const device_facts& device, assay_plan& plan);

}  // namespace assay
