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

/// CUDA C++ Programming Guide, mathematical functions: exp2f and expf at most 2 ulp, logf at most 1 ulp; an ulp is at
/// most 2^-23 of the value. Compiled without -ftz, so subnormal results are kept.
inline constexpr math_errors errors{0x1p-22F, 0x1p-126F, 0x1p-24F, 0x1p-23F, tanh_error(0x1p-22F)};

__device__ inline float exp2(float x) {
  return ::exp2f(x);
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

/// Ten times the major number plus the minor one; 0 without a device.
inline int compute_capability() {
  int device = 0, major = 0, minor = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  return known ? 10 * major + minor : 0;
}

/// The hardware's wave size is what it is; the request concerns the cpu platform only.
inline bool has_wave_size(int) {
  return true;
}

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

/// Orders the LDS accesses of a wave's lanes: what they wrote before it, all of them see after it.
__device__ inline void wave_fence() {
  __syncwarp();
}

}  // namespace assay::platform
