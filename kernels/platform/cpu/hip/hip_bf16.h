/// __hip_bfloat16 and __hip_bfloat162.
#pragma once

#include "hip/hip_runtime.h"
#include "hip/small_floats.h"

using __hip_bfloat16 = assay::cpu::number16<assay::cpu::bf16_format>;
using __hip_bfloat162 = assay::cpu::pair16<assay::cpu::bf16_format>;
using hip_bfloat16 = __hip_bfloat16;

inline __hip_bfloat16 __float2bfloat16(float x) {
  return x;
}
inline __hip_bfloat16 __float2bfloat16_rn(float x) {
  return x;
}
inline float __bfloat162float(__hip_bfloat16 x) {
  return x;
}
inline __hip_bfloat16 __double2bfloat16(double x) {
  return x;
}
inline __hip_bfloat16 __int2bfloat16_rn(int x) {
  return x;
}
inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) {
  return x.bits;
}
inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __hip_bfloat16::of_bits(bits);
}

inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) {
  return {x, x};
}
inline __hip_bfloat162 __float2bfloat162_rn(float x) {
  return {x, x};
}
inline __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {x, y};
}
inline __hip_bfloat162 __float22bfloat162_rn(float2 x) {
  return {x.x, x.y};
}
inline float2 __bfloat1622float2(__hip_bfloat162 x) {
  return {x.x, x.y};
}
inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) {
  return x.x;
}
inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) {
  return x.y;
}
inline __hip_bfloat162 __low2bfloat162(__hip_bfloat162 x) {
  return {x.x, x.x};
}
inline __hip_bfloat162 __high2bfloat162(__hip_bfloat162 x) {
  return {x.y, x.y};
}
