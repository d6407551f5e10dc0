/// The amd platform as kernels and planner see it (kernels/platform/current.hpp).
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <span>

#include "kernels/library.h"
#include "kernels/platform/common/kernels_in_turn.hpp"
#include "kernels/platform/common/math_errors.hpp"
#include "kernels/platform/common/stream_of_call.hpp"
#include "kernels/platform/common/tanh_by_exp.hpp"

#define ASSAY_UNROLL _Pragma("unroll")

namespace assay::platform {

inline constexpr const char* name = "amd";
inline constexpr DLDeviceType device_type = kDLROCM;

/// RDNA's waves of 32 lanes have 256 vector registers, CDNA's 512: there only small tiles wait in registers while the
/// tile before them is at work. The host's pass reads sizes only.
#if defined(__GFX11__) || defined(__GFX12__)
inline constexpr bool has_few_registers = true;
#else
inline constexpr bool has_few_registers = false;
#endif

/// Copies to LDS pass through the thread's registers: of the direct loads to LDS (gfx942, gfx950) the compiler waits
/// for all before any read of LDS.
inline constexpr bool copies_pass_registers = true;

/// v_exp_f32 and v_log_f32 are good to 1 ulp and flush subnormal results (AMD's CDNA and RDNA ISA guides). exp adds the
/// rounding of the high half of its argument's fraction and one product: below 2^-23 + 2 * 2^-24 = 2^-22. log
/// multiplies log2 by ln 2: two roundings more.
inline constexpr math_errors errors{0x1p-22F, 0x1p-126F, 0x1p-23F, 0x1p-22F, tanh_error(0x1p-22F)};

__device__ inline float exp2(float x) {
  return __builtin_amdgcn_exp2f(x);
}
/// exp2 of x * log2(e) in two parts: what the first part's roundings lost, below 2^-17 for the arguments whose result
/// is not 0, comes back as the factor 1 + ln2 * rest.
__device__ inline float exp(float x) {
  const float high = x * 0x1.715476p+0F;
  const float rest = fmaf(x, 0x1.4ae0bep-26F, fmaf(x, 0x1.715476p+0F, -high));
  const float y = exp2(high);
  // Beyond f32's range the product above may be infinite, and its rest NaN.
  return fabsf(x) < 128.0F ? fmaf(y, rest * 0x1.62e43p-1F, y) : y;
}
__device__ inline float log(float x) {
  return __builtin_amdgcn_logf(x) * 0x1.62e43p-1F;
}
__device__ inline float tanh(float x) {
  return tanh_by_exp(x, [](float u) { return exp(u); });
}

inline std::int64_t device_memory_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  return hipMemGetInfo(&free_bytes, &total_bytes) == hipSuccess ? static_cast<std::int64_t>(total_bytes) : 0;
}
inline int compute_units() {
  int device = 0, count = 0;
  const bool known = hipGetDevice(&device) == hipSuccess &&
                     hipDeviceGetAttribute(&count, hipDeviceAttributeMultiprocessorCount, device) == hipSuccess;
  return known && count > 0 ? count : 1;
}

/// LDS that a block may have, and that the blocks of a compute unit share.
struct lds_sizes {
  int of_block, of_unit;
};
inline lds_sizes lds_bytes() {
  return {64 << 10, 64 << 10};
}
/// Lets a kernel have that much dynamic LDS, which is no more than lds_bytes() says.
template <class Kernel>
void allow_lds(Kernel*, int) {}

/// Threads that blocks should have at the most.
inline constexpr int most_threads_of_block = 256;
/// What __launch_bounds__ takes so that a compute unit holds so many blocks: waves of one of its four SIMDs.
constexpr int bound_of_blocks(int blocks, int threads) {
  const int waves = blocks * ((threads + 63) / 64) / 4;
  return waves > 1 ? waves : 1;
}
/// 32-bit registers of a compute unit, at the least: RDNA's has two SIMDs of 1536 for 32 lanes, CDNA's four of 512 for
/// 64. The host's pass has the same number.
inline constexpr int registers_of_unit = 2 * 1536 * 32;

/// The hardware's wave size. Only the cpu platform honours the request.
inline bool has_wave_size(int) {
  return true;
}

/// Of the wave that the planner has in mind, to which no launch is known.
inline constexpr int usual_wave_lanes = 64;

/// Lanes of a wave: a multiple of it is a block's number of threads.
inline int wave_size(const assay_launch&) {
  int device = 0, lanes = 0;
  const bool known = hipGetDevice(&device) == hipSuccess &&
                     hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device) == hipSuccess;
  return known && lanes > 0 ? lanes : 64;
}

/// Whether warpgroups multiply (device/warpgroup.hpp): NVIDIA's do.
inline constexpr bool may_have_warpgroups = false;
inline bool has_warpgroups(int) {
  return false;
}

/// has_few_registers of the device that a launch is for.
inline bool device_has_few_registers(const assay_launch& launch) {
  return wave_size(launch) == 32;
}

/// A value that is the same in all lanes of the wave: in a scalar register, so that branches on it are uniform and
/// addresses from it take no vector registers.
__device__ inline int uniform(int value) {
  return __builtin_amdgcn_readfirstlane(value);
}

/// Orders the LDS accesses of a wave's lanes: what they wrote before it, all of them see after it. The lanes run in
/// lockstep; only the compiler must be kept from moving accesses.
__device__ inline void wave_fence() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/// 0, of which the compiler does not know it: addresses made with it are not computed before a loop, where they would
/// take registers.
__device__ inline int unknown_zero() {
  int zero = 0;
  asm volatile("" : "+s"(zero));
  return zero;
}

/// __syncthreads, with a wait of its own for the wave's LDS accesses. The compiler (LLVM 19 and 22) loses the one that
/// the barrier's fence asks for where a barrier is at the head of a loop and the store at its end, so that other waves
/// read what is not there yet. What stands in an assembly statement it keeps.
__device__ inline void block_barrier() {
#if defined(__GFX12__)
  asm volatile("s_wait_dscnt 0x0" ::: "memory");
#elif defined(__HIP_DEVICE_COMPILE__)
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
#endif
  __syncthreads();
}

/// Whether it holds in any lane. The whole wave must come here.
__device__ inline bool any_lane(bool holds) {
  return __any(holds ? 1 : 0) != 0;
}

/// A place in LDS where copies go; `+ n` is n bytes further on.
using lds_place = unsigned char*;
__device__ inline lds_place place_in_lds(unsigned char* at) {
  return at;
}

/// Copies to LDS, done where they begin: see copies_pass_registers.
template <int Bytes, bool IsReadOnce = false>
__device__ inline void begin_copy(lds_place to, const void* from, bool is_live) {
  // No struct: a choice between one in memory and an empty one would be between places, of which one is scratch memory.
  using word = unsigned int __attribute__((ext_vector_type(Bytes / 4)));
  word bits = 0;
  if (is_live) bits = *static_cast<const word*>(from);
  *reinterpret_cast<word*>(to) = bits;
}
__device__ inline void commit_copies() {}
template <int Pending>
__device__ inline void wait_for_copies() {}
/// Makes what the thread wrote to LDS visible to a matrix unit that reads LDS itself: here none does.
__device__ inline void publish_lds() {}

}  // namespace assay::platform

/// All barriers of the kernels, which are plain HIP.
#define __syncthreads() ::assay::platform::block_barrier()
