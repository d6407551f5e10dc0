/// What a call of run() has beside its tensors: a workspace, and an outcome.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/library.h"
#include "properties/data/inputs.hpp"

namespace assay {

/// The largest workspace that the suite gives a call.
inline constexpr std::int64_t largest_workspace_bytes = std::int64_t{4} << 30;

/// A launch's workspace on the host: one buffer that holds no number of any use, between guards; none for 0 bytes.
std::vector<buffer> make_workspace(std::int64_t bytes);

/// Gives it to the launch.
void set_workspace(assay_launch& launch, std::vector<buffer>& workspace);

/// What run() says, and where that is ASSAY_OK and the kernel has an outcome(), what that says. An outcome() that says
/// ASSAY_UNSUPPORTED is a failure.
assay_status run_to_outcome(const assay_kernel& kernel, const problem& planned, std::span<const assay_tensor> tensors,
                            const assay_launch& launch);

}  // namespace assay
