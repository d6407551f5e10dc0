/// Devices, streams and events of runtime_api.h.
#include <chrono>
#include <cstring>
#include <memory>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"
#include "kernels/platform/cpu/hip/runtime_api.h"

using namespace assay::cpu;

struct assay_event {
  std::chrono::steady_clock::time_point time;
  bool is_recorded = false;
};
struct assay_stream {};

namespace {

hipError_t outcome(bool is_valid) {
  if (is_valid) return hipSuccess;
  set_last_error(hipErrorInvalidValue);
  return hipErrorInvalidValue;
}

constexpr int compute_units = 8, major_version = 9, minor_version = 0;

}  // namespace

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return outcome(false);
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  if (device == nullptr) return outcome(false);
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  return outcome(device == 0);
}

hipError_t assay::cpu::describe_device(hipDeviceProp_t* properties, int device, int wave_size) {
  if (properties == nullptr || device != 0) return outcome(false);
  constexpr int int_max = 0x7FFFFFFF;
  *properties = {};
  std::strcpy(properties->name, "Assay cpu platform");
  std::strcpy(properties->gcnArchName, "cpu");
  properties->sharedMemPerBlock = scope_lds_bytes();
  properties->sharedMemPerBlockOptin = properties->sharedMemPerMultiprocessor = largest_lds_bytes;
  properties->warpSize = wave_size != 0 ? wave_size : scope_wave_size();
  properties->maxThreadsPerBlock = max_block_size;
  for (int& extent : properties->maxThreadsDim) extent = max_block_size;
  for (int& extent : properties->maxGridSize) extent = int_max;
  properties->multiProcessorCount = compute_units;
  properties->major = major_version;
  properties->minor = minor_version;
  return hipSuccess;
}

hipError_t assay::cpu::describe_device(int* value, hipDeviceAttribute_t attribute, int device, int wave_size) {
  if (value == nullptr || device != 0) return outcome(false);
  switch (attribute) {
    case hipDeviceAttributeComputeCapabilityMajor: *value = major_version; return hipSuccess;
    case hipDeviceAttributeComputeCapabilityMinor: *value = minor_version; return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = static_cast<int>(scope_lds_bytes()); return hipSuccess;
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: *value = largest_lds_bytes; return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:  // as count_blocks() below has it
    case hipDeviceAttributeMaxThreadsPerBlock: *value = max_block_size; return hipSuccess;
    case hipDeviceAttributeMultiprocessorCount: *value = compute_units; return hipSuccess;
    case hipDeviceAttributeWarpSize: *value = wave_size != 0 ? wave_size : scope_wave_size(); return hipSuccess;
  }
  return outcome(false);
}

hipError_t assay::cpu::set_function_attribute(hipFuncAttribute attribute, int value) {
  if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize) return hipSuccess;
  return outcome(value >= 0 && ask_for_lds(static_cast<std::size_t>(value)));
}

hipError_t assay::cpu::count_blocks(int* blocks, int threads, std::size_t shared_bytes) {
  if (blocks == nullptr || threads <= 0 || threads > max_block_size) return outcome(false);
  *blocks = shared_bytes <= scope_lds_bytes() ? max_block_size / threads : 0;
  return hipSuccess;
}

hipError_t assay::cpu::launch_without_type() {
  set_last_error(hipErrorNotSupported);
  return hipErrorNotSupported;
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr || kernel == nullptr) return outcome(false);
  *attributes = {};
  attributes->maxThreadsPerBlock = max_block_size;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(scope_lds_bytes());
  return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int) {
  if (stream == nullptr) return outcome(false);
  *stream = std::make_unique<assay_stream>().release();
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  const std::unique_ptr<assay_stream> owned(stream);
  return outcome(owned != nullptr);
}
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t event, unsigned int) {
  return outcome(event != nullptr);
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int) {
  if (event == nullptr) return outcome(false);
  *event = std::make_unique<assay_event>().release();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  const std::unique_ptr<assay_event> owned(event);
  return outcome(owned != nullptr);
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
  if (event == nullptr) return outcome(false);
  *event = {std::chrono::steady_clock::now(), true};
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return outcome(event != nullptr);
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (milliseconds == nullptr || start == nullptr || stop == nullptr || !start->is_recorded || !stop->is_recorded)
    return outcome(false);
  *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
  return hipSuccess;
}
