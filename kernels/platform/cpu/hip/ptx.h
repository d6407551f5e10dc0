/// PTX as functions, for kernels that wrap it in small ones of their own: asynchronous copies into shared memory, loads
/// of matrix fragments, and matrix products of a warp. Meanings are those of NVIDIA's PTX ISA 8; warps have 32 lanes.
///
/// What a copy under way means: kernels/platform/cpu/executor/async_copy.hpp.
///
/// Shared addresses may be pointers, or numbers of __cvta_generic_to_shared.
#pragma once

#include <cstdint>
#include <source_location>

#include "hip/amdgcn_mfma.h"
#include "hip/hip_runtime.h"
#include "kernels/platform/cpu/executor/async_copy.hpp"

namespace assay::cpu {

template <class Shared>
void* shared_pointer_of(Shared address) {
  if constexpr (std::is_pointer_v<Shared>)
    return const_cast<void*>(static_cast<const void*>(address));
  else
    return shared_pointer(static_cast<std::uint64_t>(address));
}

/// One row of 8 elements of 16 bits, which this lane loaded for the wave, and the lane's registers.
struct matrix_rows {
  std::uint16_t row[8];
  std::uint32_t result[4];
};
template <int Count, bool IsTransposed>
void exchange_rows(wave_records& records);
/// ldmatrix of the kernel's code at `pc`.
void load_matrices(std::uintptr_t pc, std::source_location where, std::uint32_t* words, const void* row, int count,
                   bool is_transposed);

/// Fragments of m16n8kK: A row by row, B column by column, as PTX orders them in registers.
struct mma_fragments {
  const std::uint32_t* a;
  const std::uint32_t* b;
  const void* c;
  void* d;
};
template <float_format Format, int K, class Sum>
void multiply_warp(wave_records& records);

void demand_warp(const char* name);

}  // namespace assay::cpu

namespace assay::ptx {

#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

/// cp.async.{ca,cg}.shared.global [shared], [global], Size, source_bytes
template <int Size, class Shared>
void cp_async(Shared shared, const void* global, int source_bytes = Size) {
  static_assert(Size == 4 || Size == 8 || Size == 16, "cp.async copies 4, 8 or 16 bytes");
  cpu::begin_copy(cpu::shared_pointer_of(shared), global, Size, static_cast<std::size_t>(source_bytes));
}
inline void cp_async_commit_group() {
  cpu::commit_copies();
}
template <int Pending>
void cp_async_wait_group() {
  cpu::wait_for_copies(Pending);
}
inline void cp_async_wait_all() {
  cpu::wait_for_copies(-1);
}

/// ldmatrix.sync.aligned.m8n8.xCount{.trans}.shared.b16: lanes 8 i to 8 i + 7 name the rows of matrix i. Register i of
/// lane l gets elements 2 (l % 4) and the next of row l / 4, or of column l / 4.
template <int Count, bool IsTransposed = false, class Shared>
void ldmatrix(std::uint32_t* registers, Shared row, ASSAY_HERE) {
  static_assert(Count == 1 || Count == 2 || Count == 4);
  cpu::demand_warp("ldmatrix");
  cpu::matrix_rows own{};
  if (cpu::lane_id() < 8 * Count) {
    using row_type = std::uint16_t __attribute__((ext_vector_type(8)));  // misaligned rows are reported
    const row_type loaded = *static_cast<const row_type*>(cpu::shared_pointer_of(row));
    __builtin_memcpy(own.row, &loaded, sizeof own.row);
  }
  cpu::wave_rendezvous("ldmatrix", where, &own, &cpu::exchange_rows<Count, IsTransposed>);
  for (int i = 0; i < Count; ++i) registers[i] = own.result[i];
}

template <cpu::float_format Format, int K, class Sum>
void multiply(const char* name, std::source_location where, Sum* d, const std::uint32_t* a, const std::uint32_t* b,
              const Sum* c) {
  constexpr int sums = std::is_same_v<Sum, float> ? 4 : 2;
  cpu::demand_warp(name);
  std::uint32_t a_own[K / 4], b_own[K / 8];
  Sum c_own[sums], d_own[sums];
  for (int i = 0; i < K / 4; ++i) a_own[i] = a[i];
  for (int i = 0; i < K / 8; ++i) b_own[i] = b[i];
  for (int i = 0; i < sums; ++i) c_own[i] = c[i];
  cpu::mma_fragments own{a_own, b_own, c_own, d_own};
  cpu::wave_rendezvous(name, where, &own, &cpu::multiply_warp<Format, K, Sum>);
  for (int i = 0; i < sums; ++i) d[i] = d_own[i];
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define ASSAY_PTX_MMA(name, format, k, sum)                                                            \
  inline void name(sum* d, const std::uint32_t* a, const std::uint32_t* b, const sum* c, ASSAY_HERE) { \
    multiply<cpu::format, k, sum>(#name, where, d, a, b, c);                                           \
  }
/// mma.sync.aligned.m16n8kK.row.col. d may be c. Sums of f32; those of f16 are in pairs, two registers.
ASSAY_PTX_MMA(mma_m16n8k16_f32_f16, f16_format, 16, float)
ASSAY_PTX_MMA(mma_m16n8k16_f32_bf16, bf16_format, 16, float)
ASSAY_PTX_MMA(mma_m16n8k8_f32_f16, f16_format, 8, float)
ASSAY_PTX_MMA(mma_m16n8k8_f32_bf16, bf16_format, 8, float)
ASSAY_PTX_MMA(mma_m16n8k16_f16_f16, f16_format, 16, std::uint32_t)
ASSAY_PTX_MMA(mma_m16n8k8_f16_f16, f16_format, 8, std::uint32_t)
#undef ASSAY_PTX_MMA
// NOLINTEND(bugprone-macro-parentheses)

#pragma clang attribute pop

}  // namespace assay::ptx
