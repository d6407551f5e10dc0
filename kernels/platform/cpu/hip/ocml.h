/// ROCm's device library by its own names, as sources that pass HIP's headers by call it.
#pragma once

#include <math.h>

extern "C" {
#define ASSAY_OCML(name)                                            \
  inline float __ocml_##name##_f32(float x) {                       \
    return ::name##f(x);                                            \
  }                                                                 \
  inline double __ocml_##name##_f64(double x) {                     \
    return ::name(x);                                               \
  }                                                                 \
  inline _Float16 __ocml_##name##_f16(_Float16 x) {                 \
    return static_cast<_Float16>(::name##f(static_cast<float>(x))); \
  }
ASSAY_OCML(exp)
ASSAY_OCML(exp2)
ASSAY_OCML(log)
ASSAY_OCML(log2)
ASSAY_OCML(sin)
ASSAY_OCML(cos)
ASSAY_OCML(tanh)
ASSAY_OCML(sqrt)
ASSAY_OCML(ceil)
ASSAY_OCML(floor)
ASSAY_OCML(rint)
ASSAY_OCML(trunc)
ASSAY_OCML(fabs)
#undef ASSAY_OCML
inline float __ocml_native_recip_f32(float x) {
  return 1.0F / x;
}
}
