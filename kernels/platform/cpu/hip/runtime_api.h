/// The host side of HIP, as far as the kernels' host code uses it. Device memory is host memory; every call is
/// synchronous.
#pragma once

#include <cstddef>
#include <cstdio>

#include "kernels/platform/cpu/base/last_error.hpp"
#include "kernels/platform/cpu/base/thread.hpp"

enum hipMemcpyKind : int {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

/// There is one queue and it is always empty; the handle is accepted and ignored.
using hipStream_t = struct assay_stream*;
inline constexpr unsigned int hipStreamDefault = 0, hipStreamNonBlocking = 1;

/// A moment of the host.
using hipEvent_t = struct assay_event*;
inline constexpr unsigned int hipEventDefault = 0, hipEventDisableTiming = 2;

enum hipFuncAttribute : int {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum hipDeviceAttribute_t : int {
  hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
  hipDeviceAttributeWarpSize,
};

/// The device: it has the wave size and the LDS of the innermost launch_scope.
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  std::size_t totalGlobalMem;  ///< 0: not known
  std::size_t sharedMemPerBlock;
  std::size_t sharedMemPerBlockOptin, sharedMemPerMultiprocessor;  ///< with hipFuncSetAttribute
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int multiProcessorCount;
  int major, minor;
};

/// The calling OS thread's last error; reading it resets it to hipSuccess, as on the GPUs.
hipError_t hipGetLastError();
/// The same without the reset.
hipError_t hipPeekAtLastError();
/// One line, never null.
const char* hipGetErrorString(hipError_t error);

/// 256-byte aligned. Defects in it name the caller's line.
hipError_t hipMalloc(void** memory, std::size_t size_bytes, ASSAY_HERE);
hipError_t hipFree(void* memory);
hipError_t hipMemcpy(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind kind,
                          hipStream_t stream = nullptr);
hipError_t hipMemset(void* memory, int value, std::size_t size_bytes);
hipError_t hipMemsetAsync(void* memory, int value, std::size_t size_bytes, hipStream_t stream = nullptr);
hipError_t hipDeviceSynchronize();
hipError_t hipStreamSynchronize(hipStream_t stream);

template <class T>
hipError_t hipMalloc(T** memory, std::size_t size_bytes, ASSAY_HERE) {
  void* raw = nullptr;
  const hipError_t error = hipMalloc(&raw, size_bytes, where);
  *memory = static_cast<T*>(raw);
  return error;
}

/// As hipMalloc, in the order of the stream.
template <class T>
hipError_t hipMallocAsync(T** memory, std::size_t size_bytes, hipStream_t, ASSAY_HERE) {
  return hipMalloc(memory, size_bytes, where);
}
inline hipError_t hipFreeAsync(void* memory, hipStream_t) {
  return hipFree(memory);
}

/// Device 0 is the only one.
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
namespace assay::cpu {
#ifdef ASSAY_WAVE_SIZE
static constexpr int compiled_wave_size = ASSAY_WAVE_SIZE;
#else
static constexpr int compiled_wave_size = 0;  // as the launch says
#endif
/// The AMD GPU that a file says it is compiled for, as its name is written; 0 for none.
#if defined(__gfx90a__)
static constexpr int compiled_architecture = 0x90a;
#elif defined(__gfx942__)
static constexpr int compiled_architecture = 0x942;
#elif defined(__gfx950__)
static constexpr int compiled_architecture = 0x950;
#elif defined(__gfx1100__)
static constexpr int compiled_architecture = 0x1100;
#elif defined(__gfx1200__)
static constexpr int compiled_architecture = 0x1200;
#else
static constexpr int compiled_architecture = 0;
#endif
hipError_t describe_device(hipDeviceProp_t* properties, int device, int compiled_wave_size);
hipError_t describe_device(int* value, hipDeviceAttribute_t attribute, int device, int compiled_wave_size);
}  // namespace assay::cpu
template <int WaveSize = assay::cpu::compiled_wave_size, int Architecture = assay::cpu::compiled_architecture>
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  const hipError_t outcome = assay::cpu::describe_device(properties, device, WaveSize);
  if (outcome == hipSuccess && Architecture != 0)
    std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "gfx%x", unsigned{Architecture});
  return outcome;
}
template <int WaveSize = assay::cpu::compiled_wave_size>
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return assay::cpu::describe_device(value, attribute, device, WaveSize);
}

hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags = 0);

hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
/// Milliseconds of the host between two recorded events.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);

namespace assay::cpu {
hipError_t set_function_attribute(hipFuncAttribute attribute, int value);
hipError_t launch_without_type();
hipError_t count_blocks(int* blocks, int threads, std::size_t shared_bytes);
}  // namespace assay::cpu
/// As many blocks as have 1,024 threads; none that takes more LDS than a launch may have.
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F*, int threads, std::size_t shared_bytes) {
  return assay::cpu::count_blocks(blocks, threads, shared_bytes);
}
/// Takes as much dynamic LDS as a launch may have; other attributes are hints.
template <class F>
hipError_t hipFuncSetAttribute(F*, hipFuncAttribute attribute, int value) {
  return assay::cpu::set_function_attribute(attribute, value);
}

/// What a kernel needs. It is compiled for the host, so that what only a GPU's compiler knows is 0.
struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  std::size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  std::size_t sharedSizeBytes;
};
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel);
template <class... Parameters>
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return hipFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
