/// Stands in for ROCm's header in the compile test: the names that the kernels use, over the compiler's builtins.
/// Nothing that is compiled with it is ever run.
#pragma once

#include <math.h>
#include <stddef.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads, ...) \
  __attribute__((amdgpu_flat_work_group_size(1, threads))) __VA_OPT__(__attribute__((amdgpu_waves_per_eu(__VA_ARGS__))))

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct __attribute__((aligned(8))) uint2 {
  unsigned int x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned int x, y, z, w;
};
__host__ __device__ inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
  return {x, y, z, w};
}

struct assay_thread_index {
  __declspec(property(get = get_x)) unsigned int x;
  __device__ unsigned int get_x() const { return __builtin_amdgcn_workitem_id_x(); }
};
struct assay_block_index {
  __declspec(property(get = get_x)) unsigned int x;
  __declspec(property(get = get_y)) unsigned int y;
  __declspec(property(get = get_z)) unsigned int z;
  __device__ unsigned int get_x() const { return __builtin_amdgcn_workgroup_id_x(); }
  __device__ unsigned int get_y() const { return __builtin_amdgcn_workgroup_id_y(); }
  __device__ unsigned int get_z() const { return __builtin_amdgcn_workgroup_id_z(); }
};
extern const __device__ __attribute__((weak)) assay_thread_index threadIdx;
extern const __device__ __attribute__((weak)) assay_block_index blockIdx;
extern const __device__ __attribute__((weak)) dim3 gridDim;

__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
__device__ inline unsigned int atomicAdd(unsigned int* address, unsigned int value) {
  return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline unsigned int atomicMin(unsigned int* address, unsigned int value) {
  return __hip_atomic_fetch_min(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline unsigned int atomicCAS(unsigned int* address, unsigned int expected, unsigned int value) {
  __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
__device__ inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
__device__ inline unsigned int __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned int, x);
}
__device__ inline float __uint_as_float(unsigned int x) {
  return __builtin_bit_cast(float, x);
}
/// Widths up to 32 only, as of the next one.
__device__ inline long long __shfl(long long value, int lane, int width) {
  const int own = __builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0U));
  const int from = ((own & -width) | (lane & (width - 1))) * 4;
  const int low = __builtin_amdgcn_ds_bpermute(from, static_cast<int>(value));
  return static_cast<unsigned int>(low) |
         static_cast<long long>(__builtin_amdgcn_ds_bpermute(from, static_cast<int>(value >> 32))) << 32;
}
__device__ inline float __shfl_xor(float value, int lane_mask, int) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0U));
  return __builtin_bit_cast(float,
                            __builtin_amdgcn_ds_bpermute((lane ^ lane_mask) * 4, __builtin_bit_cast(int, value)));
}
__device__ inline int __any(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0) != 0 ? 1 : 0;
}
__device__ inline float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__device__ inline float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}
__device__ inline float fabsf(float x) {
  return __builtin_fabsf(x);
}
__device__ inline float copysignf(float x, float sign) {
  return __builtin_copysignf(x, sign);
}

enum hipError_t { hipSuccess = 0 };
using hipStream_t = struct assay_stream*;
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeWarpSize };
hipError_t hipGetLastError();
const char* hipGetErrorString(hipError_t error);
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
hipError_t hipMalloc(void** memory, size_t size_bytes);
hipError_t hipFree(void* memory);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size_bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes);
hipError_t hipGetDevice(int* device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
extern "C" unsigned int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream);
extern "C" hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                      hipStream_t stream);

#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  (kernel)<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
