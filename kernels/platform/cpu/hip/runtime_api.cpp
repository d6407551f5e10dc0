#include "kernels/platform/cpu/hip/runtime_api.h"

#include <cstring>
#include <string>

#include "kernels/platform/cpu/base/device_memory.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"

using namespace assay::cpu;

namespace {

hipError_t outcome(hipError_t error) {
  if (error != hipSuccess) set_last_error(error);
  return error;
}

}  // namespace

hipError_t hipGetLastError() {
  const hipError_t error = last_error();
  set_last_error(hipSuccess);
  return error;
}
hipError_t hipPeekAtLastError() {
  return last_error();
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

hipError_t hipMalloc(void** memory, std::size_t size_bytes, std::source_location where) {
  if (memory == nullptr) return outcome(hipErrorInvalidValue);
  const char* const slash = std::strrchr(where.file_name(), '/');
  const std::string file = slash != nullptr ? slash + 1 : where.file_name();
  *memory = size_bytes == 0 ? nullptr : allocate(size_bytes, file + ":" + std::to_string(where.line()));
  return *memory == nullptr && size_bytes > 0 ? outcome(hipErrorOutOfMemory) : hipSuccess;
}

hipError_t hipFree(void* memory) {
  return memory == nullptr || release(memory) ? hipSuccess : outcome(hipErrorInvalidValue);
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind) {
  if (size_bytes == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return outcome(hipErrorInvalidValue);
  end_row_of_launches();
  std::memcpy(to, from, size_bytes);
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind kind, hipStream_t) {
  return hipMemcpy(to, from, size_bytes, kind);
}

hipError_t hipMemset(void* memory, int value, std::size_t size_bytes) {
  if (size_bytes == 0) return hipSuccess;
  if (memory == nullptr) return outcome(hipErrorInvalidValue);
  end_row_of_launches();
  std::memset(memory, value, size_bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void* memory, int value, std::size_t size_bytes, hipStream_t) {
  return hipMemset(memory, value, size_bytes);
}

hipError_t hipDeviceSynchronize() {
  end_row_of_launches();
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  end_row_of_launches();
  return hipSuccess;
}
