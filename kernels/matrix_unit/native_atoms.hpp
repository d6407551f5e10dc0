/// NVIDIA's atoms that the kernels do not use: FP8 of mma.sync (sm_89 and later) and wgmma (sm_90a). Operands are 32
/// bytes of k, whatever the type: the fragments' layouts in words are the same (PTX ISA, "Matrix fragments for
/// mma.m16n8k32", "Register fragments and shared memory matrix layouts" of wgmma). A block takes a tile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/matrix_unit/matrix_unit_arguments.hpp"

namespace assay::native {

enum class instruction { mma_e4m3, mma_e5m2, wgmma_f16, wgmma_bf16, wgmma_e4m3, wgmma_e5m2 };

constexpr bool is_wgmma(instruction i) {
  return i >= instruction::wgmma_f16;
}

inline constexpr int row_words = 8;

#define ASSAY_MMA(type)                                                     \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." type "." type       \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <instruction I>
__device__ inline void multiply_in_registers([[maybe_unused]] float* c, [[maybe_unused]] const std::uint32_t* a,
                                             [[maybe_unused]] const std::uint32_t* b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  if constexpr (I == instruction::mma_e4m3) ASSAY_MMA("e4m3");
  if constexpr (I == instruction::mma_e5m2) ASSAY_MMA("e5m2");
#endif
}
#undef ASSAY_MMA

#define ASSAY_WGMMA(shape, types, transposes)                              \
  asm volatile("wgmma.mma_async.sync.aligned." shape ".f32." types         \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1" transposes ";" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])            \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor))
/// m64n8: the first wave's rows are the tile's, those of the others zeros. B's 8 columns lie in LDS as two core
/// matrices.
template <instruction I>
__device__ inline void multiply_by_warpgroup([[maybe_unused]] float* c, [[maybe_unused]] const std::uint32_t* a,
                                             [[maybe_unused]] const std::uint32_t* columns) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // 128 bytes from one core matrix to the next along k, 256 along columns; in units of 16 bytes.
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(columns));
  const std::uint64_t descriptor = ((address & 0x3FFFFU) >> 4) | (std::uint64_t{8} << 16) | (std::uint64_t{16} << 32);
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[i])::"memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if constexpr (I == instruction::wgmma_f16) ASSAY_WGMMA("m64n8k16", "f16.f16", ", 0");
  if constexpr (I == instruction::wgmma_bf16) ASSAY_WGMMA("m64n8k16", "bf16.bf16", ", 0");
  if constexpr (I == instruction::wgmma_e4m3) ASSAY_WGMMA("m64n8k32", "e4m3.e4m3", "");
  if constexpr (I == instruction::wgmma_e5m2) ASSAY_WGMMA("m64n8k32", "e5m2.e5m2", "");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[i])::"memory");
#endif
}
#undef ASSAY_WGMMA

template <instruction I>
__global__ void multiply_tile(tile_arguments t) {
  __shared__ __align__(128) std::uint32_t columns[2][64];
  const int lane = static_cast<int>(threadIdx.x) % 32, wave = static_cast<int>(threadIdx.x) / 32;
  const int row = lane / 4, word = lane % 4;
  const std::int64_t tile = blockIdx.x;
  const auto* const a = static_cast<const std::uint32_t*>(t.a) + tile * 16 * row_words;
  const auto* const b = static_cast<const std::uint32_t*>(t.b) + tile * 16 * row_words;
  for (int i = static_cast<int>(threadIdx.x); i < 128; i += static_cast<int>(blockDim.x)) {
    const int n = i / row_words, k = i % row_words;
    columns[n / 8][k / 4 * 32 + n % 8 * 4 + k % 4] = b[i];
  }
  __syncthreads();
  std::uint32_t rows[4] = {};
  if (wave == 0)
    for (int i = 0; i < 4; ++i) rows[i] = a[(row + i % 2 * 8) * row_words + word + i / 2 * 4];
  for (int half = 0; half < 2; ++half) {
    float c[4] = {};
    const auto place = [&](int i) { return tile * 256 + (row + i / 2 * 8) * 16 + half * 8 + word * 2 + i % 2; };
    if (wave == 0)
      for (int i = 0; i < 4; ++i) c[i] = static_cast<const float*>(t.c)[place(i)];
    if constexpr (is_wgmma(I)) {
      multiply_by_warpgroup<I>(c, rows, columns[half]);
    } else {
      const std::uint32_t* const from = b + (half * 8 + row) * row_words + word;
      const std::uint32_t pair[2] = {from[0], from[4]};
      multiply_in_registers<I>(c, rows, pair);
    }
    if (wave == 0)
      for (int i = 0; i < 4; ++i) static_cast<float*>(t.d)[place(i)] = c[i];
  }
}

template <instruction I>
void launch(const tile_arguments& t) {
  hipLaunchKernelGGL(multiply_tile<I>, dim3(static_cast<unsigned int>(t.count)), dim3(is_wgmma(I) ? 128 : 32), 0,
                     nullptr, t);
}

}  // namespace assay::native
