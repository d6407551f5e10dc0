/// Division of many f32 by one that the host knows, for results that become codes of an 8-bit type.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>

namespace assay::device {

/// quotient(x) is x / d, rounded once, where 2^-11 <= |x / d| <= 2^11. Beyond, it has the sign of x / d and is below
/// 2^-10 or above 2^10, infinite or NaN where x / d is: as a code of an 8-bit type it is the same, 0 or saturated.
///
/// Markstein's steps (IBM Journal of Research and Development 34, 1990). h = RN(1 / d), also by way of f64: no 1 / d is
/// nearer than 2^-49 to the middle of two f32. q = RN(x h) is off x / d by at most 3 / 2 ulp. A step is e = RN(q d -
/// x), then RN(y) with y = q - e h. h and e have an error of 2^-24 each: after the first step q is off by 1 / 2 + 2^-22
/// ulp. Then q d - x is a number of 24 bits, and e exact. Let S be the significand of d as a whole number of 24 bits. h
/// d is off 1 by at most 2^-48 S, so the second y is off x / d by at most that part of |q - x / d|. Counted in halves
/// of an ulp, x / d is N / S with a whole N, and the middle of two f32 is odd. N / S is not, so they are 1 / S apart or
/// more. y and x / d have a middle between them only if |q - x / d| 2^-48 S >= 1 / (2 S) ulp, that is S^2 >= 2^48 / (1
/// + 2^-21): of the largest S alone, which are left out.
///
/// For the d that are taken nothing of this is subnormal where |x / d| >= 2^-11. Where it is less, y is x / d, off by
/// 2^-22 of it and h / 2 of the least subnormal number: that is half of x / d at most, and the sign stays. A zero keeps
/// its own, for e is +0, and -e h a zero of the sign that changes nothing.
struct float_quotient {
  float divisor = 1.0F;
  float inverse = 1.0F;

  float_quotient() = default;
  explicit float_quotient(float d) : divisor(d), inverse(takes(d) ? static_cast<float>(1.0 / d) : 0.0F) {}

  /// Whether quotient() may be called.
  static bool takes(float d) {
    int exponent = 0;
    return d >= 0x1p-60F && d <= 0x1p60F && std::frexp(d, &exponent) < 1.0F - 0x1p-20F;
  }

  __device__ float quotient(float x) const {
    const float first = x * inverse;
    const float second = step(x, first);
    return fabsf(first) < 0x1p12F ? step(x, second) : first;
  }

 private:
  __device__ float step(float x, float q) const { return fmaf(-fmaf(q, divisor, -x), inverse, q); }
};

}  // namespace assay::device
