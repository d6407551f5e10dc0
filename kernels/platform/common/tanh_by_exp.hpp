/// tanh in f32 from a platform's exp, accurate relative to the result also near 0. Platforms without an exact wide
/// evaluation use it; tests/kernels/device/math_test.cpp samples its bound on the cpu.
#pragma once

#include <hip/hip_runtime.h>

namespace assay::platform {

/// Bound of the relative error, given exp's. Above 0.55, t = 1 - 2 / (e + 1) with e = exp(2u): exp's error d moves t by
/// 2 e d / (e + 1)^2, at most 0.38 d where t >= 0.5; the addition and the division move 2 / (e + 1) <= 0.5 by 2^-24
/// each, and the subtraction rounds once: 0.76 d + 2 * 2^-24 + 2^-24. Below, the polynomial's few roundings of terms
/// that shrink by u^2 <= 0.3 stay under 2 * 2^-24, its truncation under 2^-24.
constexpr float tanh_error(float exp_relative_error) {
  return 0.76F * exp_relative_error + 4.0F * 0x1p-24F;
}

template <class Exp>
__device__ inline float tanh_by_exp(float x, Exp exp) {
  const float u = fabsf(x);
  float t = 1.0F;
  if (u < 0.55F) {
    // Taylor coefficients of tanh(u)/u in s = u^2: -1/3, 2/15, -17/315, 62/2835, -1382/155925, 21844/6081075,
    // -929569/638512875, 6404582/10854718875. The rest: s <= 0.3025 against a radius of convergence of (pi/2)^2 = 2.47
    // leaves about 0.123^9 < 2^-27.
    const float s = u * u;
    float r = 0x1.355824p-11F;
    r = fmaf(r, s, -0x1.7da364p-10F);
    r = fmaf(r, s, 0x1.d6d3dp-9F);
    r = fmaf(r, s, -0x1.226e36p-7F);
    r = fmaf(r, s, 0x1.664f48p-6F);
    r = fmaf(r, s, -0x1.ba1ba2p-5F);
    r = fmaf(r, s, 0x1.111112p-3F);
    r = fmaf(r, s, -0x1.555556p-2F);
    t = fmaf(u * s, r, u);
  } else if (!(u > 10.0F)) {
    t = 1.0F - 2.0F / (exp(2.0F * u) + 1.0F);
  }
  return copysignf(t, x);
}

}  // namespace assay::platform
