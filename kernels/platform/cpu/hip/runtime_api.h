/// The host side of HIP, as far as the kernels' host code uses it. Device memory is host memory; every call is
/// synchronous.
#pragma once

#include <cstddef>

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
