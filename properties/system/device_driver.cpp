#include "properties/system/device_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "properties/system/errors.hpp"
#include "properties/system/worker.hpp"

namespace assay {
namespace {

/// CUmemAllocationProp and hipMemAllocationProp: pinned memory of one device.
struct memory_kind {
  std::int32_t type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  std::int32_t handle_types = 0;
  std::int32_t location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  std::int32_t device = 0;
  void* windows_only = nullptr;
  std::uint8_t flags[8] = {};
};
/// CUmemAccessDesc and hipMemAccessDesc.
struct memory_access {
  std::int32_t location_type = 1;
  std::int32_t device = 0;
  std::int32_t flags = 3;  // read and write
};
static_assert(sizeof(memory_kind) == 32 && sizeof(memory_access) == 12);

}  // namespace

/// Both vendors' functions take the same arguments: addresses, handles and streams are of 8 bytes.
struct device_driver::calls {
  int (*init)(unsigned);
  int (*count)(int*);
  int (*name)(char*, int, int);
  int (*retain)(void**, int);  ///< CUDA alone, with set_current; else select
  int (*set_current)(void*);
  int (*select)(int);
  int (*allocate)(std::byte**, std::size_t);
  int (*free)(std::byte*);
  int (*allocate_host)(std::byte**, std::size_t);
  int (*free_host)(std::byte*);
  int (*copy_in)(std::byte*, const std::byte*, std::size_t, void*);
  int (*copy_out)(std::byte*, const std::byte*, std::size_t, void*);
  int (*fill)(std::byte*, unsigned char, std::size_t, void*);
  int (*copy_across)(std::byte*, const std::byte*, std::size_t, void*);
  int (*make_event)(void**, unsigned);
  int (*record)(void*, void*);
  int (*elapsed)(float*, void*, void*);  ///< in milliseconds
  int (*make_stream)(void**, unsigned);
  int (*finish)(void*);
  int (*text)(int, const char**);
  int (*name_of_error)(int, const char**);
  int (*grain)(std::size_t*, const memory_kind*, unsigned);
  int (*reserve)(std::byte**, std::size_t, std::size_t, std::byte*, unsigned long long);
  int (*unreserve)(std::byte*, std::size_t);
  int (*create)(unsigned long long*, std::size_t, const memory_kind*, unsigned long long);
  int (*release)(unsigned long long);
  int (*map)(std::byte*, std::size_t, std::size_t, unsigned long long, unsigned long long);
  int (*unmap)(std::byte*, std::size_t);
  int (*allow)(std::byte*, std::size_t, const memory_access*, std::size_t);
};

namespace {

class loader {
 public:
  explicit loader(const char* file) : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw environment_error(fmt::format("{} cannot be loaded: {}", file, dlerror()));
  }
  template <class Function>
  const loader& operator()(Function*& to, const char* name) const {
    to = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (to == nullptr) throw environment_error(fmt::format("{} has no {}", file_, name));
    return *this;
  }

 private:
  const char* file_;
  void* handle_;
};

device_driver::calls cuda_calls() {
  device_driver::calls c{};
  loader("libcuda.so.1")(c.init, "cuInit")(c.count, "cuDeviceGetCount")(c.name, "cuDeviceGetName")(
      c.retain, "cuDevicePrimaryCtxRetain")(c.set_current, "cuCtxSetCurrent")(c.allocate, "cuMemAlloc_v2")(
      c.free, "cuMemFree_v2")(c.allocate_host, "cuMemAllocHost_v2")(c.free_host, "cuMemFreeHost")(
      c.copy_in, "cuMemcpyHtoDAsync_v2")(c.copy_out, "cuMemcpyDtoHAsync_v2")(c.copy_across, "cuMemcpyDtoDAsync_v2")(
      c.make_event, "cuEventCreate")(c.record, "cuEventRecord")(c.elapsed, "cuEventElapsedTime")(
      c.fill, "cuMemsetD8Async")(c.make_stream, "cuStreamCreate")(c.finish, "cuStreamSynchronize")(
      c.text, "cuGetErrorString")(c.name_of_error, "cuGetErrorName")(c.grain, "cuMemGetAllocationGranularity")(
      c.reserve, "cuMemAddressReserve")(c.unreserve, "cuMemAddressFree")(c.create, "cuMemCreate")(
      c.release, "cuMemRelease")(c.map, "cuMemMap")(c.unmap, "cuMemUnmap")(c.allow, "cuMemSetAccess");
  return c;
}

device_driver::calls hip_calls() {
  device_driver::calls c{};
  loader("libamdhip64.so")(c.init, "hipInit")(c.count, "hipGetDeviceCount")(c.name, "hipDeviceGetName")(
      c.select, "hipSetDevice")(c.allocate, "hipMalloc")(c.free, "hipFree")(c.allocate_host, "hipMemAllocHost")(
      c.free_host, "hipHostFree")(c.copy_in, "hipMemcpyHtoDAsync")(c.copy_out, "hipMemcpyDtoHAsync")(
      c.copy_across, "hipMemcpyDtoDAsync")(c.make_event, "hipEventCreateWithFlags")(c.record, "hipEventRecord")(
      c.elapsed, "hipEventElapsedTime")(c.fill, "hipMemsetD8Async")(c.make_stream, "hipStreamCreateWithFlags")(
      c.finish, "hipStreamSynchronize")(c.text, "hipDrvGetErrorString")(c.name_of_error, "hipDrvGetErrorName")(
      c.grain, "hipMemGetAllocationGranularity")(c.reserve, "hipMemAddressReserve")(c.unreserve, "hipMemAddressFree")(
      c.create, "hipMemCreate")(c.release, "hipMemRelease")(c.map, "hipMemMap")(c.unmap, "hipMemUnmap")(
      c.allow, "hipMemSetAccess");
  return c;
}

/// Pages of `grain` bytes that meet the ranges, as ranges that neither overlap nor touch.
std::vector<index_range> pages_of(const std::vector<index_range>& ranges, std::int64_t grain) {
  std::vector<index_range> pages;
  for (const index_range& r : ranges) {
    if (r.size() <= 0) continue;
    const std::int64_t begin = r.begin / grain * grain, end = (r.end + grain - 1) / grain * grain;
    if (!pages.empty() && begin <= pages.back().end)
      pages.back().end = std::max(pages.back().end, end);
    else
      pages.push_back({begin, end});
  }
  return pages;
}

}  // namespace

namespace {

const device_driver::calls& calls_of(DLDeviceType type) {
  if (type == kDLCUDA) {
    static const device_driver::calls cuda = cuda_calls();
    return cuda;
  }
  if (type == kDLROCM) {
    static const device_driver::calls hip = hip_calls();
    return hip;
  }
  throw environment_error(fmt::format("tensors on device type {}: there is no driver for it", static_cast<int>(type)));
}

/// "what: text (NAME, code)".
std::string error_text(const device_driver::calls& driver, const char* what, int code) {
  const char* text = nullptr;
  const char* name = nullptr;
  if (driver.text(code, &text) != 0 || text == nullptr) text = "an error without a text";
  if (driver.name_of_error(code, &name) != 0 || name == nullptr) name = "without a name";
  return fmt::format("{}: {} ({}, {})", what, text, name, code);
}

/// At the start, an error is this machine's.
void demand(const device_driver::calls& driver, const char* what, int code) {
  if (code != 0) throw environment_error(error_text(driver, what, code));
}

/// The numbers of ASSAY_DEVICES.
std::vector<int> named_devices(const char* list, int count) {
  std::vector<int> devices;
  for (const char* at = list;; ++at) {
    int device = 0;
    const auto [end, error] = std::from_chars(at, list + std::strlen(list), device);
    if (error != std::errc{} || (*end != ',' && *end != '\0') || device < 0 || device >= count)
      throw environment_error(
          fmt::format("ASSAY_DEVICES: '{}' is no list of devices, as in 0,2; the driver has {}", list, count));
    devices.push_back(device);
    at = end;
    if (*at == '\0') return devices;
  }
}

/// The devices to use, at least one. Starts the driver.
std::vector<int> devices_of(const device_driver::calls& driver) {
  int count = 0;
  demand(driver, "the driver's start", driver.init(0));
  demand(driver, "the number of devices", driver.count(&count));
  if (count < 1) throw environment_error("the driver has no device");
  if (const char* const named = std::getenv("ASSAY_DEVICES")) return named_devices(named, count);
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string name_of_device(const device_driver::calls& driver, int device) {
  char text[256] = {};
  demand(driver, "the device's name", driver.name(text, sizeof text, device));
  return text;
}

}  // namespace

device_driver& device_driver::of(DLDeviceType type) {
  static std::map<DLDeviceType, std::unique_ptr<device_driver>> open;
  std::unique_ptr<device_driver>& one = open[type];
  if (!one) one = std::make_unique<device_driver>(type, calls_of(type));
  return *one;
}

int device_driver::number_for_worker(DLDeviceType type) {
  const std::vector<int> devices = devices_of(calls_of(type));
  return devices[static_cast<std::size_t>(worker::number()) % devices.size()];
}

std::string device_driver::devices_text(DLDeviceType type) {
  const calls& driver = calls_of(type);
  std::map<std::string, int> counts;
  for (const int device : devices_of(driver)) ++counts[name_of_device(driver, device)];
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  return text;
}

device_driver::device_driver(DLDeviceType type, const calls& driver) : driver_(driver) {
  device_ = {type, number_for_worker(type)};
  if (driver_.select == nullptr) {
    void* context = nullptr;
    demand(driver, "the device's context", driver_.retain(&context, device_.device_id));
    demand(driver, "the device's context", driver_.set_current(context));
  } else {
    demand(driver, "the device's choice", driver_.select(device_.device_id));
  }
  name_ = name_of_device(driver, device_.device_id);
  constexpr unsigned apart_from_default_stream = 1;
  demand(driver, "a stream", driver_.make_stream(&stream_, apart_from_default_stream));
  memory_kind kind;
  kind.device = device_.device_id;
  std::size_t grain = 0;
  demand(driver, "the grain of its memory", driver_.grain(&grain, &kind, 0));
  page_bytes_ = static_cast<std::int64_t>(grain);
}

void device_driver::check(const char* what, int code) const {
  if (code != 0) throw device_error(error_text(driver_, what, code));
}

void device_driver::take_memory(const char* what, const std::function<int()>& call) {
  constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory
  int code = call();
  if (code == out_of_memory && !free_pages_.empty()) {
    finish();
    release_free_pages();
    code = call();
  }
  if (code == out_of_memory) throw device_memory_error(error_text(driver_, what, code));
  check(what, code);
}

void device_driver::release_free_pages() {
  for (const auto& [bytes, handle] : free_pages_) driver_.release(handle);
  free_pages_.clear();
  free_bytes_ = 0;
}

std::byte* device_driver::grown(kept_memory& kept, std::int64_t bytes, int (*allocate)(std::byte**, std::size_t),
                                int (*release)(std::byte*)) {
  if (bytes <= kept.bytes) return kept.at;
  finish();
  if (kept.at != nullptr) check("freeing memory", release(kept.at));
  kept = {};
  const std::int64_t wanted = std::max(bytes + bytes / 2, std::int64_t{1} << 20);
  take_memory("allocating device memory", [&] { return allocate(&kept.at, static_cast<std::size_t>(wanted)); });
  kept.bytes = wanted;
  return kept.at;
}

std::byte* device_driver::scratch(std::int64_t bytes) {
  return grown(scratch_, bytes, driver_.allocate, driver_.free);
}

std::byte* device_driver::host_scratch(host_use use, std::int64_t bytes) {
  return grown(host_scratch_[static_cast<std::size_t>(use)], bytes, driver_.allocate_host, driver_.free_host);
}

unsigned long long device_driver::take_page(std::int64_t bytes) {
  if (const auto kept = free_pages_.find(bytes); kept != free_pages_.end()) {
    const unsigned long long handle = kept->second;
    free_pages_.erase(kept);
    free_bytes_ -= bytes;
    return handle;
  }
  memory_kind kind;
  kind.device = device_.device_id;
  unsigned long long handle = 0;
  take_memory("allocating device memory",
              [&] { return driver_.create(&handle, static_cast<std::size_t>(bytes), &kind, 0); });
  return handle;
}

void device_driver::give_page(unsigned long long handle, std::int64_t bytes) {
  constexpr std::int64_t most_kept = std::int64_t{1} << 30;  // a device has many processes
  if (free_bytes_ + bytes > most_kept) {
    driver_.release(handle);
    return;
  }
  free_pages_.emplace(bytes, handle);
  free_bytes_ += bytes;
}

void device_driver::copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) check("copying to the device", driver_.copy_in(to, from, static_cast<std::size_t>(bytes), stream_));
}

void device_driver::copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) check("copying from the device", driver_.copy_out(to, from, static_cast<std::size_t>(bytes), stream_));
}

void device_driver::fill(std::byte* at, std::byte value, std::int64_t bytes) {
  check("filling device memory",
        driver_.fill(at, static_cast<unsigned char>(value), static_cast<std::size_t>(bytes), stream_));
}

void device_driver::copy_across(std::byte* to, const std::byte* from, std::int64_t bytes) {
  check("copying within the device", driver_.copy_across(to, from, static_cast<std::size_t>(bytes), stream_));
}

std::byte* device_driver::allocate(std::int64_t bytes) {
  std::byte* memory = nullptr;
  take_memory("allocating device memory", [&] { return driver_.allocate(&memory, static_cast<std::size_t>(bytes)); });
  return memory;
}

void device_driver::free(std::byte* memory) {
  driver_.free(memory);  // of a device that failed, the driver frees all with the process
}

std::vector<double> device_driver::seconds_of_each(int times, const std::function<void()>& enqueue) {
  const auto count = static_cast<std::size_t>(times);
  while (events_.size() < 2 * count) {
    void* event = nullptr;
    check("making an event", driver_.make_event(&event, 0));
    events_.push_back(event);
  }
  for (std::size_t i = 0; i < count; ++i) {
    check("recording an event", driver_.record(events_[2 * i], stream_));
    enqueue();
    check("recording an event", driver_.record(events_[2 * i + 1], stream_));
  }
  finish();
  std::vector<double> seconds;
  seconds.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    float milliseconds = 0;
    check("the time between events", driver_.elapsed(&milliseconds, events_[2 * i], events_[2 * i + 1]));
    seconds.push_back(1e-3 * static_cast<double>(milliseconds));
  }
  return seconds;
}

void device_driver::finish() {
  check("the device", driver_.finish(stream_));  // device_error_prefix
}

mapped_memory::mapped_memory(device_driver& on, index_range reserved, const std::vector<index_range>& used,
                             std::byte filled)
    : on_(on), pages_(pages_of(used, on.page_bytes())) {
  const std::int64_t grain = on.page_bytes();
  const std::int64_t before = (-reserved.begin + grain - 1) / grain * grain;
  reserved_bytes_ = before + (reserved.end + grain - 1) / grain * grain;
  on.take_memory("reserving addresses of the device", [&] {
    return on.driver_.reserve(&reserved_, static_cast<std::size_t>(reserved_bytes_), static_cast<std::size_t>(grain),
                              nullptr, 0);
  });
  body_ = reserved_ + before;
  try {
    for (const index_range& pages : pages_) map(pages, filled);
  } catch (...) {
    release();
    throw;
  }
}

void mapped_memory::map(index_range pages, std::byte filled) {
  const auto bytes = static_cast<std::size_t>(pages.size());
  memory_access access;
  access.device = on_.device().device_id;
  const mapping made{body_ + pages.begin, pages.size(), on_.take_page(pages.size())};
  try {
    on_.take_memory("mapping device memory", [&] { return on_.driver_.map(made.at, bytes, 0, made.handle, 0); });
  } catch (...) {
    on_.driver_.release(made.handle);
    throw;
  }
  mappings_.push_back(made);
  on_.check("mapping device memory", on_.driver_.allow(made.at, bytes, &access, 1));
  on_.fill(made.at, filled, pages.size());
}

/// Of a device that failed, the driver frees all with the process.
void mapped_memory::release() {
  for (const mapping& m : mappings_) {
    on_.driver_.unmap(m.at, static_cast<std::size_t>(m.bytes));
    on_.give_page(m.handle, m.bytes);
  }
  if (reserved_ != nullptr) on_.driver_.unreserve(reserved_, static_cast<std::size_t>(reserved_bytes_));
}

mapped_memory::~mapped_memory() {
  release();
}

}  // namespace assay
