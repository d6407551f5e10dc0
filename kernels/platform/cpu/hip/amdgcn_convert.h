/// Conversions of AMD's instructions: f32 to and from FP8 (that of the GPU, as of MFMA in amdgcn_mfma.h) and f16.
#pragma once

#include <bit>
#include <cmath>

#include "hip/amdgcn_mfma.h"

namespace assay::cpu {

using f32_pair = float __attribute__((ext_vector_type(2)));
using f16_pair = _Float16 __attribute__((ext_vector_type(2)));

inline float byte_decoded(float_format format, int word, int byte) {
  return static_cast<float>(decoded(format, static_cast<unsigned int>(word) >> (8 * byte) & 0xFF));
}
/// The word `old` with the codes of a and b in its upper or lower half. What is too large becomes NaN or infinity.
inline int with_pair(float_format format, float a, float b, int old, bool is_upper) {
  const unsigned int pair = encoded(format, a, false) | encoded(format, b, false) << 8,
                     kept = is_upper ? 0xFFFF : 0xFFFF0000;
  return std::bit_cast<int>((std::bit_cast<unsigned int>(old) & kept) | pair << (is_upper ? 16 : 0));
}
/// Rounded towards zero: what is too large becomes the largest number.
inline _Float16 towards_zero(float x) {
  const unsigned int code = narrowed_f16(x);
  const bool is_beyond = !std::isnan(x) && std::fabs(widened_f16(code)) > std::fabs(x);
  const bool is_infinite = std::isinf(x);
  return std::bit_cast<_Float16>(static_cast<unsigned short>(is_beyond && !is_infinite ? code - 1 : code));
}

}  // namespace assay::cpu

inline assay::cpu::f32_pair __builtin_amdgcn_cvt_pk_f32_fp8(int word, bool is_upper) {
  using namespace assay::cpu;
  const int first = is_upper ? 2 : 0;
  return {byte_decoded(mfma_fp8, word, first), byte_decoded(mfma_fp8, word, first + 1)};
}
inline assay::cpu::f32_pair __builtin_amdgcn_cvt_pk_f32_bf8(int word, bool is_upper) {
  using namespace assay::cpu;
  const int first = is_upper ? 2 : 0;
  return {byte_decoded(mfma_bf8, word, first), byte_decoded(mfma_bf8, word, first + 1)};
}
inline float __builtin_amdgcn_cvt_f32_fp8(int word, int byte) {
  return assay::cpu::byte_decoded(assay::cpu::mfma_fp8, word, byte);
}
inline float __builtin_amdgcn_cvt_f32_bf8(int word, int byte) {
  return assay::cpu::byte_decoded(assay::cpu::mfma_bf8, word, byte);
}
inline int __builtin_amdgcn_cvt_pk_fp8_f32(float a, float b, int old, bool is_upper) {
  return assay::cpu::with_pair(assay::cpu::mfma_fp8, a, b, old, is_upper);
}
inline int __builtin_amdgcn_cvt_pk_bf8_f32(float a, float b, int old, bool is_upper) {
  return assay::cpu::with_pair(assay::cpu::mfma_bf8, a, b, old, is_upper);
}
inline assay::cpu::f16_pair __builtin_amdgcn_cvt_pkrtz(float a, float b) {
  return {assay::cpu::towards_zero(a), assay::cpu::towards_zero(b)};
}
