/// Online softmax of query rows. Lanes that share a row hold the same maximum, and each its part of the sum.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/math.hpp"

namespace assay::device {

/// No key yet: every visible logit is above it, and exp2 of it is 0.
inline constexpr float no_logit = -__builtin_huge_valf();

/// The sum of a power of two of numbers, in a binary tree of halves.
template <int Count>
__device__ __forceinline__ float tree_sum(const float (&x)[Count]) {
  float half[Count / 2];
  ASSAY_UNROLL
  for (int i = 0; i < Count / 2; ++i) half[i] = x[i] + x[i + Count / 2];
  if constexpr (Count == 2)
    return half[0];
  else
    return tree_sum(half);
}

/// m: running maximum of base-2 logits. l: sum of exp2(y - m). Once a row has a key, m is finite and its l, over all
/// lanes and states, is at least 1 up to rounding.
struct softmax_state {
  float m = no_logit;
  float l = 0.0F;

  /// What is taken from logits before exp2. Nothing visible yet: -inf - -inf would be NaN.
  __device__ float base() const { return m == no_logit ? 0.0F : m; }

  /// Moves the maximum up to `top`; returns alpha, by which sums of the previous state are to be scaled: exactly 1
  /// where it did not move.
  __device__ float move(float top) {
    const float before = m;
    m = fmaxf(m, top);
    return m == before ? 1.0F : exp2(before - base());
  }

  /// l == 0 means that no key was visible. Compared so that a NaN stays one.
  __device__ float lse() const { return l == 0.0F ? no_logit : natural_lse(m, l); }
};

}  // namespace assay::device
