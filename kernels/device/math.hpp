/// Elementary functions of kernels: the platform's, whose errors kernels/platform declares, and constants.
#pragma once

#include "kernels/platform/current.hpp"

namespace assay::device {

// log2(e) rounded to f32, and ln(2) as the sum of two f32: the second catches what the first one's rounding lost, so
// that m * ln2 costs no rounding of the constant.
inline constexpr float log2_e = 0x1.715476p+0F;
inline constexpr float ln_2_high = 0x1.62e43p-1F;
inline constexpr float ln_2_low = -0x1.05c61p-29F;

using platform::exp;
using platform::exp2;
using platform::log;
using platform::tanh;

/// The larger of x and y; NaN where one of them is NaN.
__device__ inline float max_or_nan(float x, float y) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));
  return larger;
#else
  return x < y || y != y ? y : x;
#endif
}
/// The larger of x and 0; NaN where x is NaN.
__device__ inline float relu(float x) {
  return max_or_nan(x, 0.0F);
}

/// Natural-log LSE of a state whose maximum m is a base-2 logit and whose sum is l > 0: m * ln2 + ln l.
__device__ inline float natural_lse(float m, float l) {
  return fmaf(m, ln_2_high, fmaf(m, ln_2_low, log(l)));
}

}  // namespace assay::device
