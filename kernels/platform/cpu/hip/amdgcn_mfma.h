/// MFMA of CDNA: matrix products of a wave of 64 lanes, D = A B + C, with A of M x K and B of K x M.
///
/// Lane l holds row l % M of A and column l % M of B, each K M / 64 elements that follow each other in k, from
/// (l / M) K M / 64 on. Of C it holds column l % M: with M = 16 rows 4 (l / 16) + i, with M = 32 rows
/// 8 (i / 4) + 4 (l / 32) + i % 4 (AMD's matrix instruction calculator shows the same).
///
/// Arithmetic: as the cpu platform's own atoms (device/mma/cpu.hpp), the products, exact in f64, are added to C in
/// ascending k in f64, and the sum is rounded once; f32 products are exact there, too. Integers are exact.
/// The broadcasts (cbsz, abid, blgp) are not known: other values than 0 end the launch.
#pragma once

#include <bit>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "hip/small_floats.h"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

// How vectors of 64 bytes are passed depends on the processor for which a file is compiled: it is one for all of them.
// Not popped, since kernels pass them, too.
#pragma clang diagnostic ignored "-Wpsabi"

namespace assay::cpu {

struct mfma_record {
  const void* a;
  const void* b;
  void* c;
};

// How elements are read: f16, bf16 (as bits, too), FP8 by their codes, i8, f32.
template <float_format Format>
struct coded {
  using bits = std::conditional_t<Format.exponent_bits + Format.fraction_bits == 15, std::uint16_t, std::uint8_t>;
  bits code;
  ASSAY_NOT_CHECKED explicit operator double() const { return decoded(Format, code); }
};

/// Ends the launch: std::invalid_argument. Out of line, since kernels are checked, and this is not one.
[[noreturn]] void fail_builtin(const char* name, const char* what);

/// Row of C that a lane's i-th element is of.
template <int M>
constexpr int mfma_row(int lane, int i) {
  return M == 16 ? 4 * (lane / 16) + i : 8 * (i / 4) + 4 * (lane / 32) + i % 4;
}

/// The matrix unit, which is not kernel code: it runs unchecked.
template <int M, int K, class A, class B, class C>
ASSAY_NOT_CHECKED void multiply_waves(wave_records& records) {
  using wide = std::conditional_t<std::is_same_v<C, float>, double, std::int32_t>;
  constexpr int share = K * M / max_wave_size, results = M * M / max_wave_size;
  wide a[M][K] = {}, b[K][M] = {}, sum[M][M] = {};  // a lane that is not there has zeros
  for (int lane = 0; lane < max_wave_size; ++lane) {
    const auto* const r = static_cast<const mfma_record*>(records.lane[lane]);
    if (r == nullptr) continue;
    for (int i = 0; i < share; ++i) {
      // NOLINTBEGIN(bugprone-signed-char-misuse): elements of i8 are numbers
      a[lane % M][lane / M * share + i] = static_cast<wide>(static_cast<const A*>(r->a)[i]);
      b[lane / M * share + i][lane % M] = static_cast<wide>(static_cast<const B*>(r->b)[i]);
      // NOLINTEND(bugprone-signed-char-misuse)
    }
    for (int i = 0; i < results; ++i)
      sum[mfma_row<M>(lane, i)][lane % M] = static_cast<wide>(static_cast<const C*>(r->c)[i]);
  }
  for (int row = 0; row < M; ++row)
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < M; ++n) sum[row][n] += a[row][k] * b[k][n];
  for (int lane = 0; lane < max_wave_size; ++lane) {
    const auto* const r = static_cast<const mfma_record*>(records.lane[lane]);
    for (int i = 0; r != nullptr && i < results; ++i)
      static_cast<C*>(r->c)[i] = static_cast<C>(sum[mfma_row<M>(lane, i)][lane % M]);
  }
}

/// The operands are registers, of any vector type with the elements' bits. By reference: as a value, a vector of __bf16
/// would go through f32 and back on CPUs that do not know it, by a function that not each runtime has.
template <int M, int K, class A, class B, class C, class OperandA, class OperandB, class Accumulators>
Accumulators mfma(const char* name, std::source_location where, const OperandA& a, const OperandB& b, Accumulators c,
                  int cbsz, int abid, int blgp) {
  static_assert(sizeof a == K * M / 64 * sizeof(A) && sizeof b == K * M / 64 * sizeof(B));
  static_assert(sizeof c == M * M / 64 * sizeof(C));
  if (wave_size() != max_wave_size) fail_builtin(name, " needs waves of 64 lanes");
  if (cbsz != 0 || abid != 0 || blgp != 0) fail_builtin(name, " with broadcasts is not known");
  mfma_record own{&a, &b, &c};
  wave_rendezvous(name, where, &own, &multiply_waves<M, K, A, B, C>);
  return c;
}

using mfma_f32x4 = float __attribute__((ext_vector_type(4)));
using mfma_f32x16 = float __attribute__((ext_vector_type(16)));
using mfma_i32x4 = int __attribute__((ext_vector_type(4)));
using mfma_i32x16 = int __attribute__((ext_vector_type(16)));
using mfma_f16x4 = _Float16 __attribute__((ext_vector_type(4)));
using mfma_f16x8 = _Float16 __attribute__((ext_vector_type(8)));
using mfma_b16x4 = short __attribute__((ext_vector_type(4)));
using mfma_b16x8 = __bf16 __attribute__((ext_vector_type(8)));

#if defined(__gfx950__) || defined(ASSAY_FP8_OCP)  // gfx942 has AMD's own FP8, gfx950 OCP's
inline constexpr float_format mfma_fp8 = e4m3_format, mfma_bf8 = e5m2_format;
#else
inline constexpr float_format mfma_fp8 = e4m3_fnuz_format, mfma_bf8 = e5m2_fnuz_format;
#endif

}  // namespace assay::cpu

#define ASSAY_MFMA(name, m, k, a_element, b_element, c_element, operand_a, operand_b, result)                          \
  inline assay::cpu::result __builtin_amdgcn_mfma_##name(const operand_a& a, const operand_b& b, assay::cpu::result c, \
                                                         int cbsz, int abid, int blgp, ASSAY_HERE) {                   \
    return assay::cpu::mfma<m, k, a_element, b_element, c_element>("__builtin_amdgcn_mfma_" #name, where, a, b, c,     \
                                                                   cbsz, abid, blgp);                                  \
  }
#define ASSAY_MFMA_BOTH(name, m, k, element, c_element, operand, result) \
  ASSAY_MFMA(name, m, k, element, element, c_element, operand, operand, result)
ASSAY_MFMA_BOTH(f32_16x16x4f32, 16, 4, float, float, float, mfma_f32x4)
ASSAY_MFMA_BOTH(f32_32x32x2f32, 32, 2, float, float, float, mfma_f32x16)
ASSAY_MFMA_BOTH(f32_16x16x16f16, 16, 16, assay::cpu::coded<assay::cpu::f16_format>, float, assay::cpu::mfma_f16x4,
                mfma_f32x4)
ASSAY_MFMA_BOTH(f32_32x32x8f16, 32, 8, assay::cpu::coded<assay::cpu::f16_format>, float, assay::cpu::mfma_f16x4,
                mfma_f32x16)
ASSAY_MFMA_BOTH(f32_16x16x32_f16, 16, 32, assay::cpu::coded<assay::cpu::f16_format>, float, assay::cpu::mfma_f16x8,
                mfma_f32x4)
ASSAY_MFMA_BOTH(f32_32x32x16_f16, 32, 16, assay::cpu::coded<assay::cpu::f16_format>, float, assay::cpu::mfma_f16x8,
                mfma_f32x16)
ASSAY_MFMA_BOTH(f32_16x16x32_bf16, 16, 32, assay::cpu::coded<assay::cpu::bf16_format>, float, assay::cpu::mfma_b16x8,
                mfma_f32x4)
ASSAY_MFMA_BOTH(f32_32x32x16_bf16, 32, 16, assay::cpu::coded<assay::cpu::bf16_format>, float, assay::cpu::mfma_b16x8,
                mfma_f32x16)
ASSAY_MFMA_BOTH(i32_16x16x32_i8, 16, 32, std::int8_t, std::int32_t, long, mfma_i32x4)
ASSAY_MFMA_BOTH(i32_32x32x16_i8, 32, 16, std::int8_t, std::int32_t, long, mfma_i32x16)
#define ASSAY_MFMA_FP8(name, a_format, b_format)                                     \
  ASSAY_MFMA(f32_16x16x32_##name, 16, 32, assay::cpu::coded<assay::cpu::a_format>,   \
             assay::cpu::coded<assay::cpu::b_format>, float, long, long, mfma_f32x4) \
  ASSAY_MFMA(f32_32x32x16_##name, 32, 16, assay::cpu::coded<assay::cpu::a_format>,   \
             assay::cpu::coded<assay::cpu::b_format>, float, long, long, mfma_f32x16)
ASSAY_MFMA_FP8(fp8_fp8, mfma_fp8, mfma_fp8)
ASSAY_MFMA_FP8(fp8_bf8, mfma_fp8, mfma_bf8)
ASSAY_MFMA_FP8(bf8_fp8, mfma_bf8, mfma_fp8)
ASSAY_MFMA_FP8(bf8_bf8, mfma_bf8, mfma_bf8)
#undef ASSAY_MFMA_FP8
#undef ASSAY_MFMA_BOTH
#undef ASSAY_MFMA
// bf16 as bits, signed or not: operands of any vector type of that size.
#define ASSAY_MFMA_OF_BITS(name, m, k, result)                                                                         \
  template <class A, class B>                                                                                          \
  assay::cpu::result __builtin_amdgcn_mfma_##name(const A& a, const B& b, assay::cpu::result c, int cbsz, int abid,    \
                                                  int blgp, ASSAY_HERE) {                                              \
    using element = assay::cpu::coded<assay::cpu::bf16_format>;                                                        \
    return assay::cpu::mfma<m, k, element, element, float>("__builtin_amdgcn_mfma_" #name, where, a, b, c, cbsz, abid, \
                                                           blgp);                                                      \
  }
ASSAY_MFMA_OF_BITS(f32_16x16x16bf16_1k, 16, 16, mfma_f32x4)
ASSAY_MFMA_OF_BITS(f32_32x32x8bf16_1k, 32, 8, mfma_f32x16)
#undef ASSAY_MFMA_OF_BITS
