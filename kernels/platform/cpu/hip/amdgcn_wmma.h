/// WMMA of RDNA3 and RDNA4: D = A B + C of a wave, all matrices 16 x 16 (iu4's k is 32 in one of its forms, which is
/// not known). Lane l holds row l % 16 of A and column l % 16 of B.
///
/// RDNA3 (gfx11): each half of the wave (16 lanes) holds all 16 elements of its row or column: lanes 16 to 31 repeat
/// lanes 0 to 15, and of waves of 64 so do lanes 32 to 63. Element i of C is of row 2 i + l / 16 (waves of 32), or
/// 4 i + l / 16 (waves of 64).
/// RDNA4 (gfx12, the names end in _gfx12): lane l holds k from 8 (l / 16) on, 8 elements (waves of 32), or from
/// 4 (l / 16) on, 4 elements (waves of 64); element i of C is of row 8 (l / 16) + i, or 4 (l / 16) + i.
/// C's column is l % 16. Sources: RDNA3 ISA 7.9, "Wave Matrix Multiply Accumulate", RDNA4 ISA 7.12, and AMD's matrix
/// instruction calculator.
///
/// Where lanes must hold the same and do not, the GPU's result is not defined: the launch ends with an error.
/// Arithmetic as of amdgcn_mfma.h; sums of 16 bits are those of f32, rounded at the end. Signed (`true`) or unsigned
/// i8; the clamp saturates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "hip/amdgcn_mfma.h"

namespace assay::cpu {

struct wmma_record {
  const void* a;
  const void* b;
  void* c;
  bool a_is_signed;
  bool b_is_signed;
  bool clamps;
  bool is_high;  ///< of 16-bit results in gfx11: the upper halves of C's dwords
  bool differs;  ///< result: lanes that must hold the same do not
};

/// An element of A or B as a number: codes of floats, or bytes.
template <class Element, class Wide>
ASSAY_NOT_CHECKED Wide wmma_element(const void* held, int i, [[maybe_unused]] bool is_signed) {
  if constexpr (std::is_same_v<Element, std::uint8_t>) {
    const std::uint8_t byte = static_cast<const std::uint8_t*>(held)[i];
    return is_signed ? static_cast<std::int8_t>(byte) : byte;
  } else {
    return static_cast<Wide>(static_cast<const Element*>(held)[i]);
  }
}

/// Results: f32 and i32 fill their dwords. 16-bit ones of gfx11 fill half of each dword, those of gfx12 are dense.
template <class Result, bool IsGfx12, class Wide>
ASSAY_NOT_CHECKED Wide wmma_load(const wmma_record& r, int i) {
  if constexpr (sizeof(Result) == 4)
    return static_cast<Wide>(static_cast<const Result*>(r.c)[i]);
  else
    return static_cast<Wide>(static_cast<const Result*>(r.c)[IsGfx12 ? i : 2 * i + (r.is_high ? 1 : 0)]);
}
template <class Result, bool IsGfx12, class Wide>
ASSAY_NOT_CHECKED void wmma_store(const wmma_record& r, int i, Wide sum) {
  const int at = sizeof(Result) == 4 || IsGfx12 ? i : 2 * i + (r.is_high ? 1 : 0);
  if constexpr (std::is_same_v<Result, std::int32_t>) {
    using limits = std::numeric_limits<std::int32_t>;
    const std::int64_t kept = r.clamps ? std::clamp<std::int64_t>(sum, limits::min(), limits::max()) : sum;
    static_cast<std::int32_t*>(r.c)[at] = static_cast<std::int32_t>(kept);
  } else if constexpr (std::is_same_v<Result, float>) {
    static_cast<float*>(r.c)[at] = static_cast<float>(sum);
  } else {
    static_cast<Result*>(r.c)[at] = Result::from(static_cast<float>(sum));
  }
}

/// 16-bit results.
template <float_format Format>
struct coded_result {
  std::uint16_t code;
  ASSAY_NOT_CHECKED explicit operator double() const { return decoded(Format, code); }
  ASSAY_NOT_CHECKED static coded_result from(float x) {
    return {static_cast<std::uint16_t>(Format.fraction_bits == 10 ? narrowed_f16(x) : narrowed_bf16(x))};
  }
};

template <class Element, class Result, bool IsGfx12, int Lanes>
ASSAY_NOT_CHECKED void multiply_wmma(wave_records& records) {
  using wide = std::conditional_t<std::is_same_v<Element, std::uint8_t>, std::int64_t, double>;
  constexpr int n = 16, groups = Lanes / n, share = IsGfx12 ? n / groups : n, results = n * n / Lanes;
  wide a[n][n] = {}, b[n][n] = {}, sum[n][n] = {};  // a lane that is not there has zeros
  const auto of = [&](int lane) { return static_cast<wmma_record*>(records.lane[lane]); };
  const auto row_of = [](int lane, int i) { return IsGfx12 ? lane / n * results + i : groups * i + lane / n; };
  bool differs = false;
  for (int lane = 0; lane < Lanes; ++lane) {
    const wmma_record* const r = of(lane);
    if (r == nullptr) continue;
    const int first_k = IsGfx12 ? lane / n * share : 0;
    for (int i = 0; i < share; ++i) {
      a[lane % n][first_k + i] = wmma_element<Element, wide>(r->a, i, r->a_is_signed);
      b[first_k + i][lane % n] = wmma_element<Element, wide>(r->b, i, r->b_is_signed);
    }
    for (int i = 0; i < results; ++i) sum[row_of(lane, i)][lane % n] = wmma_load<Result, IsGfx12, wide>(*r, i);
    if (const wmma_record* const same = of(lane % n); !IsGfx12 && same != nullptr)
      differs |=
          std::memcmp(r->a, same->a, n * sizeof(Element)) != 0 || std::memcmp(r->b, same->b, n * sizeof(Element)) != 0;
  }
  for (int row = 0; row < n; ++row)
    for (int k = 0; k < n; ++k)
      for (int column = 0; column < n; ++column) sum[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < Lanes; ++lane) {
    wmma_record* const r = of(lane);
    if (r == nullptr) continue;
    for (int i = 0; i < results; ++i) wmma_store<Result, IsGfx12>(*r, i, sum[row_of(lane, i)][lane % n]);
    r->differs = differs;
  }
}

template <class Element, class Result, bool IsGfx12, int Lanes, class A, class B, class C>
C wmma(const char* name, std::source_location where, const A& a, const B& b, C c, bool a_is_signed, bool b_is_signed,
       bool clamps, bool is_high) {
  constexpr int share = IsGfx12 ? 256 / Lanes : 16;
  static_assert(sizeof a == share * sizeof(Element) && sizeof b == sizeof a);
  if (wave_size() != Lanes) fail_builtin(name, Lanes == 32 ? " needs waves of 32 lanes" : " needs waves of 64 lanes");
  wmma_record own{&a, &b, &c, a_is_signed, b_is_signed, clamps, is_high, false};
  wave_rendezvous(name, where, &own, &multiply_wmma<Element, Result, IsGfx12, Lanes>);
  if (own.differs) fail_builtin(name, ": lanes l and l % 16 hold different rows of A or columns of B");
  return c;
}

using wmma_f32x8 = float __attribute__((ext_vector_type(8)));
using wmma_f32x4 = float __attribute__((ext_vector_type(4)));
using wmma_i32x8 = int __attribute__((ext_vector_type(8)));
using wmma_i32x4 = int __attribute__((ext_vector_type(4)));
using wmma_i32x2 = int __attribute__((ext_vector_type(2)));
using wmma_f16x16 = _Float16 __attribute__((ext_vector_type(16)));
using wmma_f16x8 = _Float16 __attribute__((ext_vector_type(8)));
using wmma_f16x4 = _Float16 __attribute__((ext_vector_type(4)));
using wmma_b16x16 = short __attribute__((ext_vector_type(16)));
using wmma_b16x8 = short __attribute__((ext_vector_type(8)));
using wmma_b16x4 = short __attribute__((ext_vector_type(4)));

}  // namespace assay::cpu

// `name` as after __builtin_amdgcn_wmma_.
#define ASSAY_WMMA(name, element, result, is_gfx12, lanes, operand, sums)                                          \
  inline assay::cpu::sums __builtin_amdgcn_wmma_##name(const assay::cpu::operand& a, const assay::cpu::operand& b, \
                                                       assay::cpu::sums c, ASSAY_HERE) {                           \
    return assay::cpu::wmma<assay::cpu::coded<assay::cpu::element>, result, is_gfx12, lanes>(                      \
        "__builtin_amdgcn_wmma_" #name, where, a, b, c, false, false, false, false);                               \
  }
ASSAY_WMMA(f32_16x16x16_f16_w32, f16_format, float, false, 32, wmma_f16x16, wmma_f32x8)
ASSAY_WMMA(f32_16x16x16_f16_w64, f16_format, float, false, 64, wmma_f16x16, wmma_f32x4)
ASSAY_WMMA(f32_16x16x16_bf16_w32, bf16_format, float, false, 32, wmma_b16x16, wmma_f32x8)
ASSAY_WMMA(f32_16x16x16_bf16_w64, bf16_format, float, false, 64, wmma_b16x16, wmma_f32x4)
ASSAY_WMMA(f32_16x16x16_f16_w32_gfx12, f16_format, float, true, 32, wmma_f16x8, wmma_f32x8)
ASSAY_WMMA(f32_16x16x16_f16_w64_gfx12, f16_format, float, true, 64, wmma_f16x4, wmma_f32x4)
ASSAY_WMMA(f32_16x16x16_bf16_w32_gfx12, bf16_format, float, true, 32, wmma_b16x8, wmma_f32x8)
ASSAY_WMMA(f32_16x16x16_bf16_w64_gfx12, bf16_format, float, true, 64, wmma_b16x4, wmma_f32x4)
ASSAY_WMMA(f16_16x16x16_f16_w32_gfx12, f16_format, assay::cpu::coded_result<assay::cpu::f16_format>, true, 32,
           wmma_f16x8, wmma_f16x8)
ASSAY_WMMA(bf16_16x16x16_bf16_w32_gfx12, bf16_format, assay::cpu::coded_result<assay::cpu::bf16_format>, true, 32,
           wmma_b16x8, wmma_b16x8)
#undef ASSAY_WMMA

/// 16-bit results of gfx11: one half of each of C's dwords; the other keeps its bits.
#define ASSAY_WMMA_HALF(name, format, operand)                                                                        \
  inline assay::cpu::operand __builtin_amdgcn_wmma_##name(const assay::cpu::operand& a, const assay::cpu::operand& b, \
                                                          assay::cpu::operand c, bool is_high, ASSAY_HERE) {          \
    return assay::cpu::wmma<assay::cpu::coded<assay::cpu::format>, assay::cpu::coded_result<assay::cpu::format>,      \
                            false, 32>("__builtin_amdgcn_wmma_" #name, where, a, b, c, false, false, false, is_high); \
  }
ASSAY_WMMA_HALF(f16_16x16x16_f16_w32, f16_format, wmma_f16x16)
ASSAY_WMMA_HALF(bf16_16x16x16_bf16_w32, bf16_format, wmma_b16x16)
#undef ASSAY_WMMA_HALF

#define ASSAY_WMMA_BYTES(name, is_gfx12, lanes, operand, sums)                                                        \
  inline assay::cpu::sums __builtin_amdgcn_wmma_##name(bool a_is_signed, const assay::cpu::operand& a,                \
                                                       bool b_is_signed, const assay::cpu::operand& b,                \
                                                       assay::cpu::sums c, bool clamps, ASSAY_HERE) {                 \
    return assay::cpu::wmma<std::uint8_t, std::int32_t, is_gfx12, lanes>("__builtin_amdgcn_wmma_" #name, where, a, b, \
                                                                         c, a_is_signed, b_is_signed, clamps, false); \
  }
ASSAY_WMMA_BYTES(i32_16x16x16_iu8_w32, false, 32, wmma_i32x4, wmma_i32x8)
ASSAY_WMMA_BYTES(i32_16x16x16_iu8_w64, false, 64, wmma_i32x4, wmma_i32x4)
ASSAY_WMMA_BYTES(i32_16x16x16_iu8_w32_gfx12, true, 32, wmma_i32x2, wmma_i32x8)
#undef ASSAY_WMMA_BYTES

// FP8 of gfx12: OCP's.
#define ASSAY_WMMA_FP8(name, format)                                                                            \
  inline assay::cpu::wmma_f32x8 __builtin_amdgcn_wmma_f32_16x16x16_##name##_w32_gfx12(                          \
      const assay::cpu::wmma_i32x2& a, const assay::cpu::wmma_i32x2& b, assay::cpu::wmma_f32x8 c, ASSAY_HERE) { \
    return assay::cpu::wmma<assay::cpu::coded<assay::cpu::format>, float, true, 32>(                            \
        "__builtin_amdgcn_wmma_f32_16x16x16_" #name "_w32_gfx12", where, a, b, c, false, false, false, false);  \
  }
ASSAY_WMMA_FP8(fp8_fp8, e4m3_format)
ASSAY_WMMA_FP8(bf8_bf8, e5m2_format)
#undef ASSAY_WMMA_FP8
