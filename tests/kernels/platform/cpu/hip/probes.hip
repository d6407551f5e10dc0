/// What foreign kernels use of HIP, one probe each: HIP's own compiler takes all of it.
#include "tests/kernels/platform/cpu/hip/probes.hpp"

#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace probes {
namespace {

std::vector<probe>& table() {
  static std::vector<probe> probes;
  return probes;
}

struct entry {
  explicit entry(const probe& p) { table().push_back(p); }
};

using half_vector = unsigned short __attribute__((ext_vector_type(4)));

/// HIP overloads by where a function runs: constructors, operators and specialisations, too. The device's is compiled.
struct twin {
  __host__ explicit twin(int given) : value(given) {}
  __device__ explicit twin(int given) : value{5 * given} {}
  template <class T>
  __host__ void operator()(T& result) const;
  template <class T>
  __device__ void operator()(T& result) const;
  template <>
  __host__ void operator()<int>(int& result) const {
    result = 1;
  }
  template <>
  __device__ void operator()<int>(int& result) const {
    result = 2;
  }
  int value;
};

// PROBE(name, what lane i must get, the kernel's body, which sets `result`).
#define PROBE(name, wanted_value, ...)                                                       \
  __global__ void kernel_##name(double* out) {                                               \
    [[maybe_unused]] const int i = static_cast<int>(threadIdx.x);                            \
    double result = -1;                                                                      \
    __VA_ARGS__ out[threadIdx.x] = result;                                                   \
  }                                                                                          \
  const entry entry_##name({#name, [](double* out) { kernel_##name<<<1, 64, 1024>>>(out); }, \
                            []([[maybe_unused]] int i) { return static_cast<double>(wanted_value); }});

// The language.
PROBE(extern_shared, 63 - i, extern __shared__ int part[]; part[i] = i; __syncthreads(); result = part[63 - i];)
PROBE(shared_array, i, __shared__ float part[64]; part[63 - i] = static_cast<float>(63 - i); __syncthreads();
      result = part[i];)
__device__ __noinline__ int not_inlined(int x) {
  return x + 3;
}
PROBE(noinline, i + 3, result = not_inlined(i);)
// Functions that differ in nothing but where they run.
struct lanes {
  static __host__ int count() {
    static int known = 1;
    return known;
  }
  static __device__ constexpr int count() { return 64; }
};
PROBE(overloaded_for_the_host, 64 + 1, constexpr int n = lanes::count(); int all[n + 1];
      result = sizeof all / sizeof *all;)
struct __align__(16) aligned_struct {
  float a, b, c, d;
};
PROBE(align, 16, result = alignof(aligned_struct);)
PROBE(component_address, i + 2.0, float4 v = make_float4(1, 2, 3, 4); float* p = &v.x; p[1] = static_cast<float>(i);
      result = *(&v.y) + *((float*)&v.y - 1) + 1;)
PROBE(component_address_of_pointer, 7 * i, uint4 v = make_uint4(0, 0, 0, 0); uint4* at = &v; unsigned int* p = &at->z;
      *p = 7U * static_cast<unsigned int>(i); result = v.z;)
PROBE(component_address_of_element, 4, float2 v[2]; v[1] = make_float2(3, 4); const float* p = &v[1].y; result = *p;)
PROBE(member_address, 5, struct { int x, y; } s = {5, 6}; int* p = &s.x; result = *p;)
__global__ void extents_kernel(double* out, dim3 d) {
  out[threadIdx.x] = d.x + 10 * d.y + 100 * d.z;
}
const entry extents({"uint3_to_dim3",
                     [](double* out) {
                       const uint3 given{1, 2, 3};
                       extents_kernel<<<dim3(1), 64>>>(out, given);
                     },
                     [](int) { return 321.0; }});
PROBE(assertion, i, assert(i < 64); result = i;)
PROBE(constant_memory, 2, static __constant__ int c[2] = {1, 2}; result = c[1];)

// Vectors.
PROBE(vectors_of_one, i + 0.5, float1 v{static_cast<float>(i) + 0.5F}; result = v.x;)
PROBE(vectors_of_three, 6, float3 f = make_float3(1, 2, 3); int3 n = make_int3(1, 2, 3);
      result = static_cast<double>(f.x + f.y + f.z) + n.x + n.y + n.z - 6;)
PROBE(vectors_of_bytes, 3 + 7 + 255 + 60000 - 9, char4 c = make_char4(3, 0, 0, -9); uchar2 u = make_uchar2(7, 255);
      ushort4 s = make_ushort4(60000, 0, 0, 0); result = c.x + c.w + u.x + u.y + s.x;)
PROBE(vectors_of_64_bits, 3e9 * 4, longlong2 a = {1, 3000000000LL}; ulonglong2 b = {0, 6000000000ULL};
      double2 d = {0, 3e9}; result = static_cast<double>(a.y) + static_cast<double>(b.y) + d.y;)
PROBE(shorts, -5, short2 s = make_short2(-5, 1); result = s.x;)

// Numbers.
PROBE(mixed_max, 5.5, result = max(5.5F, 3) + min(0, 2.5F);)
PROBE(max_of_nan, 2, result = max(__builtin_nanf(""), 1.0F) + min(1.0F, __builtin_nanf(""));)
PROBE(rounded_functions, 0.5 + 3 + 4, result = __frcp_rn(2.0F) + __fmaf_rn(1, 2, 1) + __fsqrt_rn(16.0F);)
PROBE(conversions, 3 + 2 + 3 + 2,
      result = __float2int_rn(2.6F) + __float2int_rz(2.6F) + __float2int_ru(2.1F) + __float2int_rd(2.9F);)
PROBE(upper_products, 3, result = static_cast<int>(__umulhi(0x80000000U, 2)) + __mulhi(1 << 30, 8);)
PROBE(mul24, 6, result = __mul24(2, 3);)
PROBE(bits, 0x80000000U + 3 + 31 + 2, result = static_cast<double>(__brev(1U)) + __popc(7U) + __clz(1) + __ffs(2U);)
PROBE(byte_perm, 0x11AABBDD, result = __byte_perm(0xAABBCC11U, 0x223344DDU, 0x0324);)
PROBE(powf, 8, result = __powf(2.0F, 3.0F);)
PROBE(expf, 1, result = __expf(0.0F);)
PROBE(bit_casts, 0x3F800000, result = __float_as_uint(__int_as_float(__float_as_int(1.0F)));)
PROBE(saturate, 1, result = __saturatef(3.0F);)
PROBE(clocks, 1, const long long a = clock64(); __nanosleep(5); result = clock64() > a ? 1 : 0;)
PROBE(shared_number, 9, __shared__ int s[64]; s[i] = 9; const auto at = __cvta_generic_to_shared(&s[i]);
      result = at < (1ULL << 32) ? *static_cast<int*>(__cvta_shared_to_generic(at)) : 0;)

// Small floats.
PROBE(half_arithmetic, 2.5, __half a = __float2half(1.0F); __half2 b = __floats2half2_rn(1.5F, 0);
      result = __half2float(__hadd(a, __low2half(b)));)
PROBE(bfloat_arithmetic, 3, __hip_bfloat16 a = __float2bfloat16(1.5F); result = __bfloat162float(a + a);)
union of_halves {
  half numbers[4];
  uint64_t bits;
};
PROBE(union_of_halves, 1.5, of_halves u; u.bits = 0x3E00; result = __half2float(u.numbers[0]);)
PROBE(older_bf16, 1.5, hip_bfloat16 x(1.5F); result = static_cast<float>(x);)
PROBE(fp8_raw, 1.75 - 0.5,
      __half2_raw x = __hip_cvt_fp8x2_to_halfraw2(__hip_cvt_float2_to_fp8x2(make_float2(1.75F, -0.5F), __HIP_SATFINITE,
                                                                            __HIP_E4M3),
                                                  __HIP_E4M3);
      x.x.data *= static_cast<_Float16>(2.0F);
      const auto y = __hip_cvt_halfraw2_to_fp8x2(x, __HIP_SATFINITE, __HIP_E4M3);
      x = __hip_cvt_fp8x2_to_halfraw2(y, __HIP_E4M3);
      result = static_cast<double>(x.x.data) / 2 + static_cast<double>(x.y.data);)
PROBE(fp8_families, 2, result = HIP_FP8_TYPE_OCP + HIP_FP8_TYPE_FNUZ;)
PROBE(fp8, 1.75, __hip_fp8_e4m3 x(1.75F); result = static_cast<float>(x);)
PROBE(fp8_pairs, 1.5 - 0.25, __hip_fp8x4_e4m3 x(make_float4(1.5F, 0, 0, -0.25F)); const float4 y = x;
      const float2 z = __hip_fp8x2_e5m2(make_float2(0, 1)); result = static_cast<double>(y.x) + y.w + (z.y - 1);)
PROBE(half_intrinsics, 5, __half2 a = __float2half2_rn(1.0F); a = __hfma2(a, __float2half2_rn(4.0F), a);
      result = __half2float(__high2half(a));)

// Where a thread is: also as a whole, and beside variables of the same names.
__device__ int extent_of(dim3 extent) {
  return static_cast<int>(extent.x * extent.y * extent.z);
}
PROBE(coordinates, 64 + 1, const dim3 block = blockDim; const uint3 thread = threadIdx;
      result = extent_of(blockDim) + extent_of(gridDim) + static_cast<int>(block.x - 64) +
               static_cast<int>(thread.x - threadIdx.x);)
struct launch_extents {
  dim3 gridDim, blockDim;
};
__global__ void named_kernel(double* out) {
  out[threadIdx.x] = gridDim.x + blockDim.x;
}
const entry shadowed({"coordinates_as_names",
                      [](double* out) {
                        const launch_extents given{dim3(1), dim3(64)};
                        const dim3 gridDim = given.gridDim, blockDim(given.blockDim);
                        named_kernel<<<gridDim, blockDim>>>(out);
                      },
                      [](int) { return 65.0; }});

// Across lanes.
PROBE(shuffles, i ^ 1, result = __shfl_xor(i, 1);)
PROBE(shuffle_sync, i / 32 * 32 + 5, result = __shfl_sync(~0ULL, i, 5, 32);)
PROBE(shuffle_of_pairs, i ^ 2, const __half2 x = __floats2half2_rn(0, static_cast<float>(i));
      result = __half2float(__high2half(__shfl_xor(x, 2)));)
PROBE(reductions, 2, const int sum = __reduce_add_sync(~0ULL, 2); result = sum / static_cast<double>(warpSize);)
PROBE(grid_group, i + 64, const auto grid = cooperative_groups::this_grid();
      result = static_cast<double>(grid.thread_rank() + grid.size());)
PROBE(groups, i % 16, namespace cg = cooperative_groups; auto tile = cg::tiled_partition<16>(cg::this_thread_block());
      result = tile.thread_rank();)
PROBE(group_shuffle, i / 8 * 8 + 7 - i % 8, namespace cg = cooperative_groups;
      auto tile = cg::tiled_partition<8>(cg::this_thread_block()); result = tile.shfl_xor(i, 7);)
PROBE(first_lane, 0, result = __builtin_amdgcn_readfirstlane(i) % 32;)

// Atomics.
PROBE(atomic_half2, 64, __shared__ __half2 sum; if (i == 0) sum = __float2half2_rn(0.0F); __syncthreads();
      atomicAdd(&sum, __float2half2_rn(1.0F)); __syncthreads(); result = __half2float(__high2half(sum));)
PROBE(atomic_bfloat2, 64, __shared__ __hip_bfloat162 sum; if (i == 0) sum = __float2bfloat162_rn(0.0F); __syncthreads();
      unsafeAtomicAdd(&sum, __float2bfloat162_rn(1.0F)); __syncthreads();
      result = __bfloat162float(__low2bfloat16(sum));)
PROBE(atomic_float2, 64 * 3, __shared__ float2 sum; if (i == 0) sum = make_float2(0, 0); __syncthreads();
      atomicAdd(&sum, make_float2(1, 2)); __syncthreads(); result = sum.x + sum.y;)
PROBE(atomic_float4, 64 * 10, __shared__ float4 sum; if (i == 0) sum = make_float4(0, 0, 0, 0); __syncthreads();
      atomicAdd(&sum, make_float4(1, 2, 3, 4)); __syncthreads(); result = sum.x + sum.y + sum.z + sum.w;)
PROBE(atomic_scopes, 64, __shared__ int n; if (i == 0) n = 0; __syncthreads(); atomicAdd_block(&n, 1); __syncthreads();
      result = n;)
PROBE(hip_atomics, 64, __shared__ int n; if (i == 0) n = 0; __syncthreads();
      __hip_atomic_fetch_add(&n, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); __syncthreads(); result = n;)

// AMD's builtins.
PROBE(amd_numbers, 2 + 0.5, result = __builtin_amdgcn_exp2f(1.0F) + __builtin_amdgcn_rcpf(2.0F);)
PROBE(amd_barrier, 63 - i, __shared__ int s[64]; s[i] = i; __builtin_amdgcn_s_waitcnt(0xC07F);
      __builtin_amdgcn_s_barrier(); __builtin_amdgcn_sched_barrier(0); result = s[63 - i];)
PROBE(amd_split_barrier, 63 - i, __shared__ int s[64]; s[i] = i; __builtin_amdgcn_s_barrier_signal(-1);
      __builtin_amdgcn_s_barrier_wait(-1); result = s[63 - i];)
PROBE(amd_assembly, 63 - i, __shared__ int s[64]; s[i] = i; asm volatile("s_waitcnt vmcnt(0) lgkmcnt(%0)" ::"n"(0));
      asm volatile("s_nop 4\ns_barrier" :: : "memory"); result = s[63 - i];)
PROBE(amd_moved_sum, (i / 16 * 16 + (i % 16 + 12) % 16) + i, float x = static_cast<float>(i);
      asm("v_nop\n v_nop\n v_add_f32_dpp %0, %1, %2 row_ror:4" : "=v"(x) : "v"(x), "v"(x)); result = x;)
PROBE(amd_moved_maximum, (i % 16 < 8 ? i + 8 : i), float x = static_cast<float>(i);
      asm("v_nop\n v_nop\n v_max_f32_dpp %0, %1, %2 row_ror:8" : "=v"(x) : "v"(x), "v"(x)); result = x;)
PROBE(amd_assembly_of_halves, i * 2.5 + 1, uint32_t two; uint32_t sum; float x = static_cast<float>(i); float back;
      asm volatile("v_cvt_f16_f32 %0, %1;\n" : "=v"(two) : "v"(x)); two |= two << 16;
      asm volatile("v_pk_mul_f16 %0, %1, %2;\n" : "=v"(sum) : "v"(two), "v"(0x4000'3800U));  // * 0.5, * 2
      asm volatile("v_pk_fma_f16 %0, %1, %2, %3;\n" : "=v"(sum) : "v"(sum), "v"(0x3C00'3C00U), "v"(0x3C00'0000U));
      uint16_t low = static_cast<uint16_t>(sum & 0xFFFF); uint16_t high = static_cast<uint16_t>(sum >> 16);
      uint16_t all; asm volatile("v_add_f16 %0, %1, %2;\n" : "=v"(all) : "v"(low), "v"(high));
      asm volatile("v_cvt_f32_f16 %0, %1;" : "=v"(back) : "v"(all)); result = back;)
PROBE(amd_named_operands, 2.5, float back; uint16_t sum;
      asm volatile("v_add_f16 %[sum], %[a], %1" : [sum] "=v"(sum) : "v"(uint16_t{0x3C00}), [a] "v"(uint16_t{0x3E00}));
      asm volatile("v_cvt_f32_f16 %[to], %[from]" : [to] "=v"(back) : [from] "v"(sum)); result = back;)
PROBE(amd_assembly_of_a_half, 3, half_vector v{}; v.lo = v.hi = {0x3C00, 0x3C00};
      asm volatile("v_pk_add_f16 %0, %1, %2" : "=v"(v.hi) : "v"(v.lo), "v"(v.hi));
      result = (v[3] == 0x4000) + (v[2] == 0x4000) + (v[1] == 0x3C00);)
PROBE(amd_present_lanes, 1, result = std::popcount(__builtin_amdgcn_read_exec()) == warpSize;)
PROBE(amd_distances, 7 + 3 + 1, result = __builtin_amdgcn_sad_u16(0x0008'0001U, 0x0001'0004U, 1U);)
PROBE(amd_root, 1.5, result = __builtin_amdgcn_sqrt(2.25);)
PROBE(ocml, 1 + 2 + 0.25, result = __ocml_exp_f32(0.0F) + static_cast<double>(__ocml_floor_f16(_Float16{2.5F}));
      result += __ocml_native_recip_f32(4.0F);)
PROBE(functions_of_std, 3, result = std::sqrtf(4.0F) + std::cosf(0.0F);)
PROBE(twins, 12, twin made(2); int by_call = 0; made(by_call); result = made.value + by_call;)
PROBE(amd_permute, i ^ 1, result = __builtin_amdgcn_ds_bpermute(4 * (static_cast<int>(__lane_id()) ^ 1), i);)

// The host.
__global__ void by_address_kernel(double* out, int add, float4 v) {
  out[threadIdx.x] = static_cast<double>(threadIdx.x) + add + static_cast<double>(v.w);
}
const entry by_address({"hipLaunchKernel",
                        [](double* out) {
                          int add = 2;
                          float4 v = make_float4(0, 0, 0, 3);
                          void* arguments[] = {(void*)&out, (void*)&add, &v};
                          auto kernel = by_address_kernel;
                          static_cast<void>(
                              hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 128));
                          static_cast<void>(hipLaunchKernel((void*)kernel, dim3(1), dim3(64), arguments, 128, nullptr));
                        },
                        [](int i) { return i + 5.0; }});
const entry by_name({"hipLaunchKernelGGL",
                     [](double* out) {
                       hipLaunchKernelGGL(by_address_kernel, dim3(1), dim3(64), 0, 0, out, 1, make_float4(0, 0, 0, 1));
                     },
                     [](int i) { return i + 2.0; }});
const entry host_calls({"host_calls",
                        [](double* out) {
                          hipDeviceProp_t p;
                          int units = 0, blocks = 0;
                          hipStream_t stream = nullptr;
                          bool fine = hipGetDeviceProperties(&p, 0) == hipSuccess && p.multiProcessorCount > 0;
                          fine &= hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess;
                          fine &= hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, by_address_kernel, 64, 0) ==
                                  hipSuccess;
                          fine &= hipStreamCreate(&stream) == hipSuccess && hipStreamDestroy(stream) == hipSuccess;
                          for (int i = 0; i < 64; ++i) out[i] = fine && units > 0 && blocks > 0 ? 1 : 0;
                        },
                        [](int) { return 1.0; }});

}  // namespace

std::vector<probe> all() {
  return table();
}

}  // namespace probes
