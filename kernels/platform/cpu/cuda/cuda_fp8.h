/// FP8 under CUDA's names: OCP's formats.
#pragma once

#include "cuda/cuda_fp16.h"
#include "hip/hip_fp8.h"

using __nv_fp8_storage_t = __hip_fp8_storage_t;
using __nv_fp8x2_storage_t = __hip_fp8x2_storage_t;
using __nv_fp8x4_storage_t = __hip_fp8x4_storage_t;
using __nv_fp8_e4m3 = __hip_fp8_e4m3;
using __nv_fp8_e5m2 = __hip_fp8_e5m2;
using __nv_fp8x2_e4m3 = __hip_fp8x2_e4m3;
using __nv_fp8x2_e5m2 = __hip_fp8x2_e5m2;
using __nv_fp8x4_e4m3 = __hip_fp8x4_e4m3;
using __nv_fp8x4_e5m2 = __hip_fp8x4_e5m2;
using __nv_saturation_t = __hip_saturation_t;
using __nv_fp8_interpretation_t = __hip_fp8_interpretation_t;
inline constexpr __nv_saturation_t __NV_NOSAT = __HIP_NOSAT, __NV_SATFINITE = __HIP_SATFINITE;
inline constexpr __nv_fp8_interpretation_t __NV_E4M3 = __HIP_E4M3, __NV_E5M2 = __HIP_E5M2;

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation, __nv_fp8_interpretation_t type) {
  return __hip_cvt_float_to_fp8(x, saturation, type);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t type) {
  return __hip_cvt_float2_to_fp8x2(x, saturation, type);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t type) {
  return __hip_cvt_fp8_to_halfraw(x, type);
}
