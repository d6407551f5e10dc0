/// The nvidia platform as kernels and planner see it (kernels/platform/current.hpp).
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <span>

#include "kernels/library.h"
#include "kernels/platform/common/math_errors.hpp"
#include "kernels/platform/common/stream_of_call.hpp"
#include "kernels/platform/common/tanh_by_exp.hpp"

#define ASSAY_UNROLL _Pragma("unroll")

namespace assay::platform {

inline constexpr const char* name = "nvidia";
inline constexpr DLDeviceType device_type = kDLCUDA;

/// Whether tiles should not wait in registers.
inline constexpr bool has_few_registers = false;

/// Whether copies to LDS pass through the thread's registers.
inline constexpr bool copies_pass_registers = false;

/// CUDA C++ Programming Guide, mathematical functions: expf at most 2 ulp, logf at most 1 ulp; an ulp is at most 2^-23
/// of the value. PTX ISA, ex2.approx.ftz: 2^-22 of the value, and subnormal results are 0.
inline constexpr math_errors errors{0x1p-22F, 0x1p-126F, 0x1p-24F, 0x1p-23F, tanh_error(0x1p-22F)};

__device__ inline float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float exp(float x) {
  return ::expf(x);
}
__device__ inline float log(float x) {
  return ::logf(x);
}
__device__ inline float tanh(float x) {
  return tanh_by_exp(x, [](float u) { return ::expf(u); });
}

inline std::int64_t device_memory_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess ? static_cast<std::int64_t>(total_bytes) : 0;
}
inline int compute_units() {
  int device = 0, count = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
  return known && count > 0 ? count : 1;
}

/// LDS that a block may have, and that the blocks of a compute unit share. Without a device those of the smallest,
/// sm_86.
struct lds_sizes {
  int of_block, of_unit;
};
inline lds_sizes lds_bytes() {
  int device = 0;
  lds_sizes sizes{};
  const bool known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&sizes.of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&sizes.of_unit, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) == cudaSuccess;
  return known ? sizes : lds_sizes{99 << 10, 100 << 10};
}
/// Lets a kernel have that much dynamic LDS, which is no more than lds_bytes() says. An error shows at the launch.
template <class Kernel>
void allow_lds(Kernel* kernel, int bytes) {
  if (bytes > 48 << 10)
    static_cast<void>(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// Threads that blocks should have at the most.
inline constexpr int most_threads_of_block = 256;
/// What __launch_bounds__ takes so that a compute unit holds so many blocks.
constexpr int bound_of_blocks(int blocks, int /*threads*/) {
  return blocks;
}
/// 32-bit registers of a compute unit.
inline constexpr int registers_of_unit = 64 << 10;

/// Ten times the major number plus the minor one; 0 without a device.
inline int compute_capability() {
  int device = 0, major = 0, minor = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  return known ? 10 * major + minor : 0;
}

/// Whether warpgroups multiply (device/warpgroup.hpp): on sm_90, where the library has code for sm_90a.
#if defined(ASSAY_NVIDIA_WARPGROUPS)
inline constexpr bool may_have_warpgroups = true;
#else
inline constexpr bool may_have_warpgroups = false;
#endif
inline bool has_warpgroups(int) {
  return may_have_warpgroups && compute_capability() == 90;
}

/// The hardware's wave size is what it is; the request concerns the cpu platform only.
inline bool has_wave_size(int) {
  return true;
}

/// Of the wave that the planner has in mind, to which no launch is known.
inline constexpr int usual_wave_lanes = 32;

/// Lanes of a wave: a multiple of it is a block's number of threads.
inline int wave_size(const assay_launch&) {
  return 32;
}

/// has_few_registers of the device that a launch is for.
inline bool device_has_few_registers(const assay_launch&) {
  return false;
}

/// A value that is the same in all lanes of the wave.
__device__ inline int uniform(int value) {
  return value;
}

/// 0, of which the compiler does not know it: what is computed from it is not kept for the next time.
__device__ inline int unknown_zero() {
  int zero = 0;
  asm volatile("" : "+r"(zero));
  return zero;
}

/// Orders the LDS accesses of a wave's lanes: what they wrote before it, all of them see after it.
__device__ inline void wave_fence() {
  __syncwarp();
}

/// Whether it holds in any lane. The whole wave must come here.
__device__ inline bool any_lane(bool holds) {
  return __any_sync(0xffffffffU, holds) != 0;
}

/// A place in LDS where copies go, by its number; `+ n` is n bytes further on.
using lds_place = unsigned int;
__device__ inline lds_place place_in_lds(const void* at) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(at));
}

/// Begins a copy of `Bytes` (4, 8 or 16) to LDS; where it is not live nothing is read, and the destination becomes 0.
/// IsReadOnce: the L2 cache gives its place away first, and keeps what launches have in common: tables and code.
template <int Bytes, bool IsReadOnce = false>
__device__ inline void begin_copy(lds_place to, const void* from, bool is_live) {
  const int is_dead = is_live ? 0 : 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr bool has_policy = IsReadOnce;
#else
  constexpr bool has_policy = false;
#endif
  if constexpr (Bytes == 16 && has_policy) {
    // What createpolicy.fractional.L2::evict_first makes, as CUTLASS's CacheHintSm90 has it, too. Of a constant the
    // compiler knows that all lanes have it.
    constexpr std::uint64_t policy = 0x12F0000000000000U;
    asm volatile(
        "{.reg .pred dead; setp.ne.b32 dead, %2, 0; "
        "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, dead, %3;}" ::"r"(to),
        "l"(from), "r"(is_dead), "l"(policy)
        : "memory");
  } else if constexpr (Bytes == 16) {  // past the L1 cache, which the tile would only pass
    asm volatile(
        "{.reg .pred dead; setp.ne.b32 dead, %2, 0; cp.async.cg.shared.global.L2::128B [%0], [%1], 16, dead;}" ::"r"(
            to),
        "l"(from), "r"(is_dead)
        : "memory");
  } else {
    asm volatile(
        "{.reg .pred dead; setp.ne.b32 dead, %3, 0; cp.async.ca.shared.global [%0], [%1], %2, dead;}" ::"r"(to),
        "l"(from), "n"(Bytes), "r"(is_dead)
        : "memory");
  }
}
/// Makes a group of the thread's copies since the last one.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits for the thread's groups but the newest `Pending`. Other lanes see their copies after a wave_fence().
template <int Pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Makes what the thread wrote to LDS, by copies that it has waited for, too, visible to a matrix unit that reads LDS
/// itself: before the barrier that orders the block.
__device__ inline void publish_lds() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// As in kernels/platform/common/kernels_in_turn.hpp: programmatic dependent launches, which sm_90 has.
__device__ inline void start_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void await_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// As hipLaunchKernelGGL, but that the kernel may start early. The library has code for the device's own architecture:
/// none of sm_90 without await_kernel_before().
template <class Arguments>
void launch_behind(void (*kernel)(Arguments), dim3 grid, dim3 block, const Arguments& arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = block, config.stream = stream();
  config.attrs = &early, config.numAttrs = compute_capability() >= 90 ? 1 : 0;
  static_cast<void>(cudaLaunchKernelEx(&config, kernel, arguments));  // an error shows by hipGetLastError()
}
#define ASSAY_LAUNCH_BEHIND(kernel, grid, block, ...) ::assay::platform::launch_behind(kernel, grid, block, __VA_ARGS__)

}  // namespace assay::platform
