/// Products of a warpgroup, four waves whose 16 rows of A and C each are one after another: wgmma m64nNk16 of sm_90a. A
/// comes from registers and C stays in them, laid out as mma.sync's; B comes from LDS, in rows of 128 bytes, swizzled
/// as device/swizzled_rows.hpp has them (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/mma/nvidia_keys.hpp"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ASSAY_HAS_WARPGROUPS 1
#endif

namespace assay::device {

#if defined(ASSAY_HAS_WARPGROUPS)

/// Of B with its reduction along the rows, each 128 bytes; `at` is in the first of them, a multiple of 32 bytes into
/// it. The first row's address is a multiple of 1,024. Bits: address / 16 from 0 on; distance of groups of eight rows /
/// 16 from 32 on; swizzle over 128 bytes, 1, from 62 on.
__device__ inline std::uint64_t rows_of_b(const unsigned char* at) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  return std::uint64_t{(address & 0x3FFFFU) >> 4} | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 62;
}

/// Of B with its columns along the rows, 64 to a strip: 16 rows of the reduction from `at` on. Bits: as above, and the
/// distance of strips / 16 from 16 on.
__device__ inline std::uint64_t columns_of_b(const unsigned char* at, int strip_bytes) {
  return rows_of_b(at) | static_cast<std::uint64_t>(strip_bytes / 16) << 16;
}

// Operands of C: the numbers of 16 of them, and the elements of four atoms.
#define ASSAY_C_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ASSAY_C_16 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ASSAY_C_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define ASSAY_C_48 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ASSAY_ATOM(as, c) as((c).value[0]), as((c).value[1]), as((c).value[2]), as((c).value[3])
#define ASSAY_ATOMS(as, c, i) \
  ASSAY_ATOM(as, c[i]), ASSAY_ATOM(as, c[(i) + 1]), ASSAY_ATOM(as, c[(i) + 2]), ASSAY_ATOM(as, c[(i) + 3])

/// begin_product: c = A B; add_product: c += A B, of rows_of_b(). add_by_columns: c += A B, of columns_of_b(). Sums are
/// not there, and neither they nor A may be touched, until wait_for_warpgroup().
#define ASSAY_WARPGROUP_PRODUCT(columns, type, numbers, a_numbers, b_number, adds, by_columns, ...)                   \
  asm volatile("{.reg .pred adds; setp.ne.b32 adds, " adds ", 0; wgmma.mma_async.sync.aligned.m64n" columns           \
               "k16.f32." type "." type " {" numbers "}, {" a_numbers "}, " b_number ", adds, 1, 1, " by_columns ";}" \
               : __VA_ARGS__                                                                                          \
               : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "l"(b))
#define ASSAY_WARPGROUP_PRODUCTS(name, adds, by_columns, as, type)                                                 \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[4], const key_fragment<type>& a, std::uint64_t b) {  \
    ASSAY_WARPGROUP_PRODUCT("32", #type, ASSAY_C_0, "%16, %17, %18, %19", "%20", adds, by_columns,                 \
                            ASSAY_ATOMS(as, c, 0));                                                                \
  }                                                                                                                \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[8], const key_fragment<type>& a, std::uint64_t b) {  \
    ASSAY_WARPGROUP_PRODUCT("64", #type, ASSAY_C_0 ", " ASSAY_C_16, "%32, %33, %34, %35", "%36", adds, by_columns, \
                            ASSAY_ATOMS(as, c, 0), ASSAY_ATOMS(as, c, 4));                                         \
  }                                                                                                                \
  __device__ __forceinline__ void name(narrow_sums<float>(&c)[16], const key_fragment<type>& a, std::uint64_t b) { \
    ASSAY_WARPGROUP_PRODUCT("128", #type, ASSAY_C_0 ", " ASSAY_C_16 ", " ASSAY_C_32 ", " ASSAY_C_48,               \
                            "%64, %65, %66, %67", "%68", adds, by_columns, ASSAY_ATOMS(as, c, 0),                  \
                            ASSAY_ATOMS(as, c, 4), ASSAY_ATOMS(as, c, 8), ASSAY_ATOMS(as, c, 12));                 \
  }
ASSAY_WARPGROUP_PRODUCTS(begin_product, "0", "0", "=f", f16)
ASSAY_WARPGROUP_PRODUCTS(begin_product, "0", "0", "=f", bf16)
ASSAY_WARPGROUP_PRODUCTS(add_product, "1", "0", "+f", f16)
ASSAY_WARPGROUP_PRODUCTS(add_product, "1", "0", "+f", bf16)
ASSAY_WARPGROUP_PRODUCTS(add_by_columns, "1", "1", "+f", f16)
ASSAY_WARPGROUP_PRODUCTS(add_by_columns, "1", "1", "+f", bf16)

/// Before the first product of some, and where registers of the ones before were touched.
__device__ __forceinline__ void start_warpgroup() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Makes a group of the products since the last one.
__device__ __forceinline__ void commit_warpgroup() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// The sums are operands, so that the compiler moves no use of them ahead of the wait.
#define ASSAY_WARPGROUP_WAIT(...) asm volatile("wgmma.wait_group.sync.aligned 0;" : __VA_ARGS__::"memory")
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[4]) {
  ASSAY_WARPGROUP_WAIT(ASSAY_ATOMS("+f", c, 0));
}
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[8]) {
  ASSAY_WARPGROUP_WAIT(ASSAY_ATOMS("+f", c, 0), ASSAY_ATOMS("+f", c, 4));
}
__device__ __forceinline__ void wait_for_warpgroup(narrow_sums<float> (&c)[16]) {
  ASSAY_WARPGROUP_WAIT(ASSAY_ATOMS("+f", c, 0), ASSAY_ATOMS("+f", c, 4), ASSAY_ATOMS("+f", c, 8),
                       ASSAY_ATOMS("+f", c, 12));
}

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
