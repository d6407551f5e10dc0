/// Matrix atoms of NVIDIA (sm_80 and later): mma.sync m16n8k16, two side by side for 16 columns. Layouts: PTX ISA,
/// "Matrix fragments for mma.m16n8k16".
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/mma/gpu_loops.hpp"
#include "kernels/matrix_atoms.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

inline constexpr int largest_wave = 32;
inline constexpr int smallest_wave = largest_wave;

__host__ __device__ constexpr int wave_lanes() {
  return 32;
}
__device__ inline int mma_lane() {
  return static_cast<int>(threadIdx.x) % 32;
}

/// A: 8 elements. B: two halves of 8 columns, 4 elements each.
template <class T>
struct fragment {
  alignas(2 * sizeof(T)) T value[8];
  __device__ static constexpr int count() { return 8; }
};

/// Two halves of 8 columns, 4 elements each.
template <class Acc>
struct accumulator {
  Acc value[8] = {};
  __device__ static constexpr int count() { return 8; }
};

/// `outer` is the row of A or the column of B.
struct coordinate {
  int outer;
  int k;
};

inline constexpr int k_run = 2;

// f16 and bf16 hold pairs in k, k + 8 apart; int8 holds fours. Both matrices use the same k for the same place, so one
// order of k serves all types: the sum over k does not change when A and B are permuted alike. With int8 that saves a
// second layout; with f16 and bf16 it is the documented one.
__device__ inline coordinate a_coordinate(int i) {
  const int lane = mma_lane();
  return {lane / 4 + 8 * (i / 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i / 4)};
}
__device__ inline coordinate b_coordinate(int i) {
  const int lane = mma_lane();
  return {lane / 4 + 8 * (i / 4), lane % 4 * 2 + i % 2 + 8 * (i / 2 % 2)};
}
__device__ inline int c_row(int i) {
  return mma_lane() / 4 + 8 * (i / 2 % 2);
}
__device__ inline int c_column(int i) {
  return 8 * (i / 4) + mma_lane() % 4 * 2 + i % 2;
}

template <class T>
__device__ inline unsigned int pair_of(T low, T high) {
  return static_cast<unsigned int>(low.bits) | static_cast<unsigned int>(high.bits) << 16;
}
__device__ inline unsigned int four_of(std::int8_t a, std::int8_t b, std::int8_t c, std::int8_t d) {
  const auto byte = [](std::int8_t x) { return static_cast<unsigned int>(static_cast<std::uint8_t>(x)); };
  return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
}

#define ASSAY_MMA_M16N8K16(type)                             \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type \
      ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "         \
      "{%0,%1,%2,%3};"                                       \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])       \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ inline void mma_half(float* c, const unsigned int* a, const unsigned int* b, f16) {
  ASSAY_MMA_M16N8K16("f16");
}
__device__ inline void mma_half(float* c, const unsigned int* a, const unsigned int* b, bf16) {
  ASSAY_MMA_M16N8K16("bf16");
}
#undef ASSAY_MMA_M16N8K16

template <class T>
__device__ inline void mma(accumulator<float>& c, const fragment<T>& a, const fragment<T>& b) {
  unsigned int a_words[4], b_words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) a_words[i] = pair_of(a.value[2 * i], a.value[2 * i + 1]);
#pragma unroll
  for (int i = 0; i < 4; ++i) b_words[i] = pair_of(b.value[2 * i], b.value[2 * i + 1]);
  mma_half(c.value, a_words, b_words, T{});
  mma_half(c.value + 4, a_words, b_words + 2, T{});
}

__device__ inline void mma_half(std::int32_t* c, const unsigned int* a, unsigned int b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}

/// In hardware, lane t of four holds k = 4t .. 4t+3 of the atom. Here it holds k = 2t, 2t+1, 2t+8, 2t+9 instead, in A
/// and B alike.
__device__ inline void mma(accumulator<std::int32_t>& c, const fragment<std::int8_t>& a,
                           const fragment<std::int8_t>& b) {
  const auto& x = a.value;
  const auto& y = b.value;
  const unsigned int rows[2] = {four_of(x[0], x[1], x[4], x[5]), four_of(x[2], x[3], x[6], x[7])};
  mma_half(c.value, rows, four_of(y[0], y[1], y[2], y[3]));
  mma_half(c.value + 4, rows, four_of(y[4], y[5], y[6], y[7]));
}

/// Of every unit since sm_80 (matrix_atoms.hpp): at most 17 terms, each off by less than a unit of 24 bits, two groups
/// of 8 with their own cut at the most, whose second one adds 9 units of sums below 18 * 2^e_max, with one truncation
/// to f32 between them: 9 + 9 * 32 + 2 * 18. Hopper's single group is within it.
inline accumulation accumulation_model(dtype) {
  return {16, 24, 333.0F, 0x1p-23F, 0.0F};
}

/// What the unit of the device in use computes, by its compute capability; undeclared where there is no device, or one
/// whose unit is not known.
inline matrix_atom exact_atom(dtype type) {
  if (type != dtype::f16 && type != dtype::bf16) return {};
  switch (platform::compute_capability()) {
    case 80:
    case 86:
    case 87:
    case 89: return ampere_atom(type);
    case 90:
    case 100:
    case 103:
    case 120:
    case 121: return hopper_atom(type);
    default: return {};
  }
}
/// P below this may be taken as 0 by the matrix unit.
inline float flushed_below(dtype) {
  return 0.0F;
}

}  // namespace assay::device
