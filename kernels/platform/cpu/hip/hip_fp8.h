/// FP8: e4m3 and e5m2, OCP's and AMD's FNUZ. From numbers they round to nearest, ties to even, and saturate.
#pragma once

#include "hip/hip_fp16.h"
#include "hip/small_floats.h"

// Which of the two families the architecture's own instructions take; a source that names none has both, as on the
// host.
#if defined(__gfx942__)
#define HIP_FP8_TYPE_OCP 0
#define HIP_FP8_TYPE_FNUZ 1
#elif defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 0
#else
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#endif

using __hip_fp8_storage_t = unsigned char;
using __hip_fp8x2_storage_t = unsigned short;
using __hip_fp8x4_storage_t = unsigned int;
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

namespace assay::cpu {

constexpr float_format format_of(__hip_fp8_interpretation_t type) {
  constexpr float_format formats[] = {e4m3_format, e5m2_format, e4m3_fnuz_format, e5m2_fnuz_format};
  return formats[type];
}

template <__hip_fp8_interpretation_t Type>
struct number8 {
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  static constexpr __hip_fp8_interpretation_t __default_interpret = Type;
  __hip_fp8_storage_t __x;

  number8() = default;  // trivial, as in HIP
  explicit number8(float x) : __x(static_cast<__hip_fp8_storage_t>(encoded(format_of(Type), x, true))) {}
  explicit number8(double x) : __x(static_cast<__hip_fp8_storage_t>(encoded(format_of(Type), x, true))) {}
  explicit number8(__half x) : number8(static_cast<float>(x)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as in HIP
  operator float() const { return static_cast<float>(decoded(format_of(Type), __x)); }
};

}  // namespace assay::cpu

namespace assay::cpu {

/// Two or four of them, the first in the lowest byte.
template <__hip_fp8_interpretation_t Type, class Storage, class Floats>
struct numbers8 {
  Storage __x;

  numbers8() = default;
  explicit numbers8(Floats given) : __x(0) {
    for (unsigned int i = 0; i < sizeof(Storage); ++i)
      __x = static_cast<Storage>(__x | static_cast<Storage>(encoded(format_of(Type), given[i], true)) << (8 * i));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as in HIP
  operator Floats() const {
    Floats numbers;
    for (unsigned int i = 0; i < sizeof(Storage); ++i)
      numbers[i] = static_cast<float>(decoded(format_of(Type), __x >> (8 * i) & 0xFF));
    return numbers;
  }
};

}  // namespace assay::cpu

using __hip_fp8x2_e4m3 = assay::cpu::numbers8<__HIP_E4M3, __hip_fp8x2_storage_t, float2>;
using __hip_fp8x2_e5m2 = assay::cpu::numbers8<__HIP_E5M2, __hip_fp8x2_storage_t, float2>;
using __hip_fp8x2_e4m3_fnuz = assay::cpu::numbers8<__HIP_E4M3_FNUZ, __hip_fp8x2_storage_t, float2>;
using __hip_fp8x2_e5m2_fnuz = assay::cpu::numbers8<__HIP_E5M2_FNUZ, __hip_fp8x2_storage_t, float2>;
using __hip_fp8x4_e4m3 = assay::cpu::numbers8<__HIP_E4M3, __hip_fp8x4_storage_t, float4>;
using __hip_fp8x4_e5m2 = assay::cpu::numbers8<__HIP_E5M2, __hip_fp8x4_storage_t, float4>;
using __hip_fp8x4_e4m3_fnuz = assay::cpu::numbers8<__HIP_E4M3_FNUZ, __hip_fp8x4_storage_t, float4>;
using __hip_fp8x4_e5m2_fnuz = assay::cpu::numbers8<__HIP_E5M2_FNUZ, __hip_fp8x4_storage_t, float4>;

using __hip_fp8_e4m3 = assay::cpu::number8<__HIP_E4M3>;
using __hip_fp8_e5m2 = assay::cpu::number8<__HIP_E5M2>;
using __hip_fp8_e4m3_fnuz = assay::cpu::number8<__HIP_E4M3_FNUZ>;
using __hip_fp8_e5m2_fnuz = assay::cpu::number8<__HIP_E5M2_FNUZ>;

inline __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturation,
                                                  __hip_fp8_interpretation_t type) {
  return static_cast<__hip_fp8_storage_t>(
      assay::cpu::encoded(assay::cpu::format_of(type), x, saturation == __HIP_SATFINITE));
}
/// x in the lower byte.
inline __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturation,
                                                       __hip_fp8_interpretation_t type) {
  return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(x.x, saturation, type) |
                                            __hip_cvt_float_to_fp8(x.y, saturation, type) << 8);
}
inline __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturation,
                                                    __hip_fp8_interpretation_t type) {
  return __hip_cvt_float_to_fp8(assay::cpu::widened_f16(x.x), saturation, type);
}
inline __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw x, __hip_saturation_t saturation,
                                                         __hip_fp8_interpretation_t type) {
  return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_halfraw_to_fp8(x.x, saturation, type) |
                                            __hip_cvt_halfraw_to_fp8(x.y, saturation, type) << 8);
}
/// Exact: f16 holds all numbers of FP8.
inline __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t type) {
  return {__half(assay::cpu::decoded(assay::cpu::format_of(type), x)).bits};
}
inline __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t type) {
  return {__hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x & 0xFF), type),
          __hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x >> 8), type)};
}
