// CUDA's driver API as far as device_driver.cpp calls it, over host memory: device addresses are host addresses that
// nothing else has, and each call is done when it returns. Its clock says half a millisecond for a copy of 1 GiB within
// the device, as much of that for a smaller one, and half a millisecond for anything else. Loaded before a test asks
// for the driver, it is found under the driver's name. `fake_driver_fail_next` lets the next wait fail, as after a
// kernel's illegal access.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

namespace {

using size_type = std::size_t;

int broken = 0;
int memory_is_short = 0;
int devices = 1;
std::map<std::byte*, size_type> allocations;  // of cuMemAlloc
constexpr size_type grain = size_type{1} << 21;
int stream_of_process = 0;
int events_queued = 0, most_events_queued = 0;  // since the stream was waited for last
size_type copied = 0;                           // bytes, within the device

std::byte* mapped(size_type bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

constexpr int out_of_memory = 2, illegal_address = 700;

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT void fake_driver_fail_next() {
  broken = illegal_address;
}
EXPORT void fake_driver_fail_next_as(int code) {
  broken = code;
}
EXPORT void fake_driver_has_memory(int has) {
  memory_is_short = has == 0 ? 1 : 0;
}
EXPORT void fake_driver_has_devices(int count) {
  devices = count;
}
EXPORT int fake_driver_most_events_queued() {
  return most_events_queued;
}
EXPORT void* fake_driver_stream() {
  return &stream_of_process;
}

EXPORT int cuInit(unsigned) {
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = devices;
  return 0;
}
EXPORT int cuDeviceGetName(char* text, int size, int) {
  std::strncpy(text, "a fake device", static_cast<size_type>(size));
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &stream_of_process;
  return 0;
}
EXPORT int cuCtxSetCurrent(void*) {
  return 0;
}
EXPORT int cuMemAlloc_v2(std::byte** memory, size_type bytes) {
  if (memory_is_short != 0) return out_of_memory;
  *memory = mapped(bytes, PROT_READ | PROT_WRITE);
  if (*memory == nullptr) return out_of_memory;
  allocations[*memory] = bytes;
  return 0;
}
EXPORT int cuMemFree_v2(std::byte* memory) {
  munmap(memory, allocations.at(memory));
  allocations.erase(memory);
  return 0;
}
EXPORT int cuMemAllocHost_v2(std::byte** memory, size_type bytes) {
  *memory = mapped(bytes, PROT_READ | PROT_WRITE);
  if (*memory == nullptr) return out_of_memory;
  allocations[*memory] = bytes;
  return 0;
}
EXPORT int cuMemFreeHost(std::byte* memory) {
  return cuMemFree_v2(memory);
}
EXPORT int cuMemcpyHtoDAsync_v2(std::byte* to, const std::byte* from, size_type bytes, void*) {
  std::memcpy(to, from, bytes);
  return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(std::byte* to, const std::byte* from, size_type bytes, void*) {
  std::memcpy(to, from, bytes);
  return 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(std::byte* to, const std::byte* from, size_type bytes, void*) {
  copied += bytes;
  std::memcpy(to, from, bytes);
  return 0;
}
EXPORT int cuEventCreate(void** event, unsigned) {
  static size_type events[64];
  static int made = 0;
  *event = &events[made++];
  return 0;
}
EXPORT int cuEventRecord(size_type* event, void*) {
  *event = copied;
  most_events_queued = std::max(most_events_queued, ++events_queued);
  return 0;
}
EXPORT int cuEventElapsedTime(float* milliseconds, const size_type* from, const size_type* to) {
  if (from == to || events_queued != 0) return 1;
  const size_type bytes = *to - *from;
  *milliseconds = bytes == 0 ? 0.5F : 0.5F * static_cast<float>(bytes) / static_cast<float>(1 << 30);
  return 0;
}
EXPORT int cuMemsetD8Async(std::byte* at, unsigned char value, size_type bytes, void*) {
  std::memset(at, value, bytes);
  return 0;
}
EXPORT int cuStreamCreate(void** stream, unsigned) {
  *stream = &stream_of_process;
  return 0;
}
EXPORT int cuStreamSynchronize(void*) {
  events_queued = 0;
  const int said = broken;
  broken = 0;
  return said;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = code == out_of_memory     ? "out of memory"
          : code == illegal_address ? "an illegal memory access was encountered"
                                    : "the launch timed out and was terminated";
  return 0;
}
EXPORT int cuGetErrorName(int code, const char** name) {
  *name = code == out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : "CUDA_ERROR_LAUNCH_TIMEOUT";
  return 0;
}
EXPORT int cuMemGetAllocationGranularity(size_type* bytes, const void*, unsigned) {
  *bytes = grain;
  return 0;
}
EXPORT int cuMemAddressReserve(std::byte** at, size_type bytes, size_type, std::byte*, unsigned long long) {
  if (memory_is_short != 0) return out_of_memory;
  std::byte* const wide = mapped(bytes + grain, PROT_NONE);
  if (wide == nullptr) return out_of_memory;
  const auto address = reinterpret_cast<size_type>(wide);
  *at = wide + (grain - address % grain) % grain;
  return 0;
}
EXPORT int cuMemAddressFree(std::byte* at, size_type bytes) {
  return munmap(at, bytes);
}
EXPORT int cuMemCreate(unsigned long long* handle, size_type, const void*, unsigned long long) {
  *handle = 1;
  return 0;
}
EXPORT int cuMemRelease(unsigned long long) {
  return 0;
}
EXPORT int cuMemMap(std::byte*, size_type, size_type, unsigned long long, unsigned long long) {
  return 0;
}
EXPORT int cuMemUnmap(std::byte* at, size_type bytes) {
  return mprotect(at, bytes, PROT_NONE);
}
EXPORT int cuMemSetAccess(std::byte* at, size_type bytes, const void*, size_type) {
  return mprotect(at, bytes, PROT_READ | PROT_WRITE);
}
