#include "kernels/platform/cpu/hip/runtime_api.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/platform/cpu/device_memory.hpp"
#include "kernels/platform/cpu/last_error.hpp"

namespace assay::cpu {
namespace {

thread_local constinit hipError_t last_error = hipSuccess;

std::mutex allocations_mutex;
std::map<void*, std::size_t> live_allocations;

hipError_t outcome(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

}  // namespace

void set_last_error(hipError_t error) {
  last_error = error;
}

std::vector<allocation> allocations() {
  const std::lock_guard lock(allocations_mutex);
  std::vector<allocation> all;
  all.reserve(live_allocations.size());
  for (const auto& [start, size_bytes] : live_allocations) all.push_back({start, size_bytes});
  return all;
}

}  // namespace assay::cpu

using assay::cpu::outcome;

hipError_t hipGetLastError() {
  return std::exchange(assay::cpu::last_error, hipSuccess);
}
hipError_t hipPeekAtLastError() {
  return assay::cpu::last_error;
}

const char* hipGetErrorString(hipError_t error) {
  switch (error) {
    case hipSuccess: return "no error";
    case hipErrorInvalidValue: return "invalid argument";
    case hipErrorOutOfMemory: return "out of memory";
    case hipErrorInvalidConfiguration: return "invalid configuration argument: grid, block or LDS size";
    case hipErrorLaunchFailure: return "the launch ended with a defect";
    case hipErrorNotSupported: return "operation not supported";
  }
  return "unrecognized error code";
}

hipError_t hipMalloc(void** memory, std::size_t size_bytes) {
  constexpr std::size_t alignment_bytes = 256;
  if (memory == nullptr) return outcome(hipErrorInvalidValue);
  *memory = nullptr;
  if (size_bytes == 0) return hipSuccess;
  if (size_bytes > std::numeric_limits<std::size_t>::max() - alignment_bytes) return outcome(hipErrorOutOfMemory);
  *memory = std::aligned_alloc(alignment_bytes, (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes);
  if (*memory == nullptr) return outcome(hipErrorOutOfMemory);
  const std::lock_guard lock(assay::cpu::allocations_mutex);
  assay::cpu::live_allocations[*memory] = size_bytes;
  return hipSuccess;
}

hipError_t hipFree(void* memory) {
  {
    const std::lock_guard lock(assay::cpu::allocations_mutex);
    assay::cpu::live_allocations.erase(memory);
  }
  std::free(memory);
  return hipSuccess;
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind) {
  if (size_bytes == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return outcome(hipErrorInvalidValue);
  std::memcpy(to, from, size_bytes);
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind kind, hipStream_t) {
  return hipMemcpy(to, from, size_bytes, kind);
}

hipError_t hipMemset(void* memory, int value, std::size_t size_bytes) {
  if (size_bytes == 0) return hipSuccess;
  if (memory == nullptr) return outcome(hipErrorInvalidValue);
  std::memset(memory, value, size_bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void* memory, int value, std::size_t size_bytes, hipStream_t) {
  return hipMemset(memory, value, size_bytes);
}

hipError_t hipDeviceSynchronize() {
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  return hipSuccess;
}
