/// What rocm/attention.cu names of vLLM's FP8 conversions, for a build without them (ENABLE_FP8): declared, never
/// called.
#pragma once

#include <hip/hip_fp8.h>

namespace vllm::fp8 {
using fp8_type = __hip_fp8_e4m3_fnuz;
template <class To, class From>
To scaled_vec_conversion(const From& x, float scale);
template <class To, class From>
To vec_conversion(const From& x);
}  // namespace vllm::fp8
