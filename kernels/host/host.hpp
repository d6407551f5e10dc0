/// Helpers for the host code of all kernels.
#pragma once

#include <cstdint>

#include "kernels/library.h"

namespace assay {

/// scale * q_scale * k_scale as f32 constants, each rounded once.
struct logit_scales {
  float natural;  ///< of logits
  float base2;    ///< of base-2 logits: the same times log2(e)
};
logit_scales logit_scales_of(const problem& p);

/// Whether run() was given a launch that this platform can do, and tensors.
assay_status check_launch(const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch);

/// The status of the launch just made.
assay_status launch_outcome(const char* kernel);

}  // namespace assay
