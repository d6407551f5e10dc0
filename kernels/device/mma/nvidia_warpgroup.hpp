/// Products of a warpgroup, device/warpgroup.hpp: wgmma m64nNk16 of sm_90a, and m64nNk32 of FP8 (PTX ISA, "Asynchronous
/// Warpgroup Level Matrix Instructions"). A in registers and C are laid out as mma.sync's.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/contract_recipes.hpp"
#include "kernels/device/mma/nvidia_keys.hpp"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ASSAY_HAS_WARPGROUPS 1
#endif

namespace assay::device {

inline constexpr int group_columns = narrow_columns;
template <class T>
using group_operand = key_fragment<T>;
using group_sums = narrow_sums<float>;
__device__ inline int group_row(int i) {
  return narrow_row(i);
}
__device__ inline int group_column(int i) {
  return narrow_column(i);
}

/// The only one there is.
inline accumulation group_fp8_accumulation_model() {
  return hopper_fp8_dots;
}
inline matrix_atom exact_group_fp8_atom(dtype type) {
  return hopper_fp8_atom(type);
}

/// Hardware barrier 1 and the warpgroup's number in the block.
struct warpgroup_barrier {
  __device__ void start() {}
  __device__ void sync() {
    asm volatile("barrier.sync.aligned %0, 128;" ::"r"(1 + static_cast<int>(threadIdx.x) / 128) : "memory");
  }
};

#if defined(ASSAY_HAS_WARPGROUPS)

/// An operand in LDS: the lower word of its descriptor. Bits: address / 16 from 0 on; distance of strips / 16 from 16
/// on. The upper word is the same for all: distance of groups of eight rows / 16, and swizzle over 128 bytes, 1, in
/// bit 30.
struct lds_operand {
  std::uint32_t low;

  /// `bytes` further on, a multiple of 16.
  __device__ lds_operand operator+(int bytes) const { return {low + static_cast<std::uint32_t>(bytes / 16)}; }
};
#define ASSAY_OPERAND_HIGH "0x40000040"

/// With its reduction along the rows, each 128 bytes; `at` is in the first of them, a multiple of 32 bytes into it. The
/// first row's address is a multiple of 1,024.
__device__ inline lds_operand operand_by_rows(const unsigned char* at) {
  return {(static_cast<std::uint32_t>(__cvta_generic_to_shared(at)) & 0x3FFFFU) >> 4};
}
/// Of B with its columns along the rows, 64 to a strip: 16 rows of the reduction from `at` on.
__device__ inline lds_operand operand_by_columns(const unsigned char* at, int strip_bytes) {
  return {operand_by_rows(at).low | static_cast<std::uint32_t>(strip_bytes / 16) << 16};
}

// Operands of C: the numbers of 16 of them, and the elements of four atoms.
#define ASSAY_C_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ASSAY_C_16 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ASSAY_C_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define ASSAY_C_48 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ASSAY_ATOM(as, c) as((c).value[0]), as((c).value[1]), as((c).value[2]), as((c).value[3])
#define ASSAY_ATOMS(as, c, i) \
  ASSAY_ATOM(as, c[i]), ASSAY_ATOM(as, c[(i) + 1]), ASSAY_ATOM(as, c[(i) + 2]), ASSAY_ATOM(as, c[(i) + 3])

#define ASSAY_WARPGROUP_PRODUCT(columns, depth, type, numbers, a_numbers, b_number, adds, by_columns, ...)        \
  asm volatile("{.reg .pred adds; .reg .b64 b; setp.ne.b32 adds, " adds ", 0; mov.b64 b, {" b_number              \
               ", " ASSAY_OPERAND_HIGH "}; wgmma.mma_async.sync.aligned.m64n" columns depth ".f32." type "." type \
               " {" numbers "}, {" a_numbers "}, b, adds, 1, 1" by_columns ";}"                                   \
               : __VA_ARGS__                                                                                      \
               : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.low))
#define ASSAY_WARPGROUP_PRODUCTS(name, adds, by_columns, as, depth, type)                                              \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[4], const key_fragment<type>& a, lds_operand b) {        \
    ASSAY_WARPGROUP_PRODUCT("32", depth, ASSAY_PTX_NAME(type), ASSAY_C_0, "%16, %17, %18, %19", "%20", adds,           \
                            by_columns, ASSAY_ATOMS(as, c, 0));                                                        \
  }                                                                                                                    \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[8], const key_fragment<type>& a, lds_operand b) {        \
    ASSAY_WARPGROUP_PRODUCT("64", depth, ASSAY_PTX_NAME(type), ASSAY_C_0 ", " ASSAY_C_16, "%32, %33, %34, %35", "%36", \
                            adds, by_columns, ASSAY_ATOMS(as, c, 0), ASSAY_ATOMS(as, c, 4));                           \
  }                                                                                                                    \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[16], const key_fragment<type>& a, lds_operand b) {       \
    ASSAY_WARPGROUP_PRODUCT("128", depth, ASSAY_PTX_NAME(type),                                                        \
                            ASSAY_C_0 ", " ASSAY_C_16 ", " ASSAY_C_32 ", " ASSAY_C_48, "%64, %65, %66, %67", "%68",    \
                            adds, by_columns, ASSAY_ATOMS(as, c, 0), ASSAY_ATOMS(as, c, 4), ASSAY_ATOMS(as, c, 8),     \
                            ASSAY_ATOMS(as, c, 12));                                                                   \
  }
#define ASSAY_WARPGROUP_PRODUCT_IN_LDS(name, adds, transposes, as, depth, type)                                     \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[16], type, lds_operand a, lds_operand b) {            \
    asm volatile(                                                                                                   \
        "{.reg .pred adds; .reg .b64 a, b; setp.ne.b32 adds, " adds ", 0; mov.b64 a, {%64, " ASSAY_OPERAND_HIGH     \
        "}; mov.b64 b, {%65, " ASSAY_OPERAND_HIGH "}; wgmma.mma_async.sync.aligned.m64n128" depth                   \
        ".f32." ASSAY_PTX_NAME(type) "." ASSAY_PTX_NAME(type) " {" ASSAY_C_0 ", " ASSAY_C_16 ", " ASSAY_C_32        \
                                                              ", " ASSAY_C_48 "}, a, b, adds, 1, 1" transposes ";}" \
        : ASSAY_ATOMS(as, c, 0), ASSAY_ATOMS(as, c, 4), ASSAY_ATOMS(as, c, 8), ASSAY_ATOMS(as, c, 12)               \
        : "r"(a.low), "r"(b.low));                                                                                  \
  }
#define ASSAY_PTX_NAME(type) ASSAY_PTX_NAME_OF_##type
#define ASSAY_PTX_NAME_OF_f16 "f16"
#define ASSAY_PTX_NAME_OF_bf16 "bf16"
#define ASSAY_PTX_NAME_OF_e4m3fn "e4m3"
ASSAY_WARPGROUP_PRODUCT_IN_LDS(begin_product, "0", ", 0, 0", "=f", "k16", f16)
ASSAY_WARPGROUP_PRODUCT_IN_LDS(begin_product, "0", ", 0, 0", "=f", "k16", bf16)
ASSAY_WARPGROUP_PRODUCT_IN_LDS(begin_product, "0", "", "=f", "k32", e4m3fn)
ASSAY_WARPGROUP_PRODUCT_IN_LDS(add_product, "1", ", 0, 0", "+f", "k16", f16)
ASSAY_WARPGROUP_PRODUCT_IN_LDS(add_product, "1", ", 0, 0", "+f", "k16", bf16)
ASSAY_WARPGROUP_PRODUCT_IN_LDS(add_product, "1", "", "+f", "k32", e4m3fn)
ASSAY_WARPGROUP_PRODUCTS(begin_whole, "0", ", 0", "=f", "k16", f16)
ASSAY_WARPGROUP_PRODUCTS(begin_whole, "0", ", 0", "=f", "k16", bf16)
ASSAY_WARPGROUP_PRODUCTS(begin_whole, "0", "", "=f", "k32", e4m3fn)
ASSAY_WARPGROUP_PRODUCTS(add_whole, "1", ", 0", "+f", "k16", f16)
ASSAY_WARPGROUP_PRODUCTS(add_whole, "1", ", 0", "+f", "k16", bf16)
ASSAY_WARPGROUP_PRODUCTS(add_whole, "1", "", "+f", "k32", e4m3fn)
ASSAY_WARPGROUP_PRODUCTS(add_all_columns, "1", ", 1", "+f", "k16", f16)
ASSAY_WARPGROUP_PRODUCTS(add_all_columns, "1", ", 1", "+f", "k16", bf16)
/// They read all columns that c has room for.
template <class T, int Atoms>
__device__ __forceinline__ void begin_product(narrow_sums<float> (&c)[Atoms], const key_fragment<T>& a, lds_operand b,
                                              int) {
  begin_whole(c, a, b);
}
template <class T, int Atoms>
__device__ __forceinline__ void add_product(narrow_sums<float> (&c)[Atoms], const key_fragment<T>& a, lds_operand b,
                                            int) {
  add_whole(c, a, b);
}
template <class T, int Atoms>
__device__ __forceinline__ void add_by_columns(narrow_sums<float> (&c)[Atoms], const key_fragment<T>& a, lds_operand b,
                                               int) {
  add_all_columns(c, a, b);
}

/// Registers of each thread of the warpgroup from here on, a multiple of 8. All warpgroups together may not have more
/// than the block was launched with.
template <int Count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

__device__ __forceinline__ void start_warpgroup() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_warpgroup() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// The sums are operands, so that the compiler moves no use of them ahead of the wait.
#define ASSAY_WARPGROUP_WAIT(number, ...) \
  asm volatile("wgmma.wait_group.sync.aligned " number ";" : __VA_ARGS__ : "n"(Pending) : "memory")
template <int Pending = 0>
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[4]) {
  ASSAY_WARPGROUP_WAIT("%16", ASSAY_ATOMS("+f", c, 0));
}
template <int Pending = 0>
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[8]) {
  ASSAY_WARPGROUP_WAIT("%32", ASSAY_ATOMS("+f", c, 0), ASSAY_ATOMS("+f", c, 4));
}
template <int Pending = 0>
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[16]) {
  ASSAY_WARPGROUP_WAIT("%64", ASSAY_ATOMS("+f", c, 0), ASSAY_ATOMS("+f", c, 4), ASSAY_ATOMS("+f", c, 8),
                       ASSAY_ATOMS("+f", c, 12));
}

/// The compiler knows of no use of them between start_warpgroup() and the wait.
template <int Count>
__device__ __forceinline__ void hold_registers(narrow_sums<float> (&c)[Count]) {
  ASSAY_UNROLL
  for (narrow_sums<float>& atom : c) asm volatile("" : ASSAY_ATOM("+f", atom)::"memory");
}
template <class T, int Count>
__device__ __forceinline__ void hold_registers(key_fragment<T> (&a)[Count]) {
  ASSAY_UNROLL
  for (key_fragment<T>& f : a)
    asm volatile("" : "+r"(f.word[0]), "+r"(f.word[1]), "+r"(f.word[2]), "+r"(f.word[3])::"memory");
}

#undef ASSAY_OPERAND_HIGH
#undef ASSAY_PTX_NAME
#undef ASSAY_PTX_NAME_OF_f16
#undef ASSAY_PTX_NAME_OF_bf16
#undef ASSAY_PTX_NAME_OF_e4m3fn
#undef ASSAY_WARPGROUP_PRODUCT_IN_LDS
#undef ASSAY_WARPGROUP_WAIT
#undef ASSAY_WARPGROUP_PRODUCTS
#undef ASSAY_WARPGROUP_PRODUCT
#undef ASSAY_ATOMS
#undef ASSAY_ATOM
#undef ASSAY_C_48
#undef ASSAY_C_32
#undef ASSAY_C_16
#undef ASSAY_C_0

#endif

}  // namespace assay::device
