/// The host's plan of a problem, and what it must hold.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/library.h"
#include "properties/case/support.hpp"

namespace assay {

/// Plans the stated problem. On success `planned` has the number of splits; else the status says why not. A plan with
/// another number of splits than the problem asks for, with too little workspace, or with more than the budget, is
/// ASSAY_FAILED. A kernel that keeps its partials to itself needs no workspace, and `takes` may say that it knows no
/// budget. `workspace_bytes`, where not null, receives what the plan asks for beside the partials.
assay_status plan_problem(const assay_kernel& kernel, const problem& stated, std::int64_t workspace_budget_bytes,
                          problem* planned, const assay_support& takes = {}, std::int64_t* workspace_bytes = nullptr);

/// Bytes of the tensors that a planned problem has because of its splits: o_partial and lse_partial. The largest
/// number of 64 bits if they are more.
std::int64_t split_workspace_bytes(const problem& planned);

/// ASSAY_FAILED with the message, cut to its size.
assay_status failed_status(const std::string& message);

}  // namespace assay
