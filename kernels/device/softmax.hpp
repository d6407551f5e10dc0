/// Online softmax of one query row, shared by `softmax_lanes` neighbouring lanes that hold the same state.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/math.hpp"

namespace assay::device {

inline constexpr int softmax_lanes = 8;
inline constexpr int softmax_keys_per_lane = 8;

/// No key yet: every visible logit is above it, and exp2 of it is 0.
inline constexpr float no_logit = -__builtin_huge_valf();

/// Rounded additions that a probability passes through on its way into l: three levels in the lane's own tree, three
/// across lanes, one into l. An older term passes through one per tile, and the fused rescale.
inline constexpr int softmax_sum_roundings = 7;

/// m: running maximum of base-2 logits. l: sum of exp2(y - m). With l > 0, m is finite and l >= 1 up to rounding.
struct softmax_state {
  float m = no_logit;
  float l = 0.0F;

  /// Takes in this lane's logits (no_logit for hidden keys), which become probabilities; returns alpha, by which sums
  /// of the previous state are to be scaled: exactly 1 when the maximum did not move.
  __device__ float update(float (&y)[softmax_keys_per_lane]) {
    float top = m;
    for (float logit : y) top = fmaxf(top, logit);
    for (int distance = 1; distance < softmax_lanes; distance *= 2)
      top = fmaxf(top, __shfl_xor(top, distance, softmax_lanes));
    // Nothing visible yet: -inf - -inf would be NaN.
    const float base = top == no_logit ? 0.0F : top;
    const float alpha = top == m ? 1.0F : exp2(m - base);
    for (float& logit : y) logit = logit == no_logit ? 0.0F : exp2(logit - base);
    float sum = ((y[0] + y[1]) + (y[2] + y[3])) + ((y[4] + y[5]) + (y[6] + y[7]));
    for (int distance = 1; distance < softmax_lanes; distance *= 2) sum += __shfl_xor(sum, distance, softmax_lanes);
    m = top;
    l = fmaf(l, alpha, sum);
    return alpha;
  }

  /// l == 0 means that no key was visible. Compared so that a NaN stays one.
  __device__ float lse() const { return l == 0.0F ? no_logit : natural_lse(m, l); }
};

}  // namespace assay::device
