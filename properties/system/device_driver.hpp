/// Memory and work of a GPU, by the driver that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "properties/system/guarded_memory.hpp"

namespace assay {

/// How an error begins that the driver tells of work it was given.
inline constexpr const char* device_error_prefix = "the device: ";

/// What the driver says of a failed call: "the device: an illegal memory access was encountered
/// (CUDA_ERROR_ILLEGAL_ADDRESS, 700)". The device may be of no further use to the process.
struct device_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The device has no memory left for the tensors of a case. The process may go on.
struct device_memory_error : device_error {
  using device_error::device_error;
};

/// One device of the process, with a stream. CUDA's driver API (libcuda.so.1) or HIP's runtime (libamdhip64.so), loaded
/// when a process first needs it: the program links neither, and a process that forks must not have called of().
/// Everything is enqueued on the stream, and throws device_error.
class device_driver {
 public:
  /// Of kDLCUDA or kDLROCM. The device is that of the worker's number, in turn (worker.hpp), of those that the driver
  /// shows (CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES) and that ASSAY_DEVICES names, as in "0,2"; without it of all.
  /// Throws environment_error: what is missing, or wrong in ASSAY_DEVICES.
  static device_driver& of(DLDeviceType type);
  /// The number of the device that of() takes in a process that has not called it yet.
  static int number_for_worker(DLDeviceType type);
  /// The devices of which of() takes one, by name: "2 x NVIDIA H100". Throws as of().
  static std::string devices_text(DLDeviceType type);

  DLDevice device() const { return device_; }
  void* stream() const { return stream_; }
  const std::string& name() const { return name_; }
  /// The grain of mapped_memory.
  std::int64_t page_bytes() const { return page_bytes_; }

  /// Memory that the driver keeps and gives again: at least so many bytes, at a multiple of 256. Any contents.
  std::byte* scratch(std::int64_t bytes);
  /// Memory of the host that the device copies from and to without another copy: kept and given again, for each of
  /// these uses.
  enum class host_use { to_device, from_device };
  std::byte* host_scratch(host_use use, std::int64_t bytes);
  void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes);
  void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes);
  /// Within the device.
  void copy_across(std::byte* to, const std::byte* from, std::int64_t bytes);
  void fill(std::byte* at, std::byte value, std::int64_t bytes);
  /// Memory of the caller's, at a multiple of 256.
  std::byte* allocate(std::int64_t bytes);
  void free(std::byte* memory);
  /// Seconds that each of `times` works takes on the device, by events before and after it. All are enqueued at once,
  /// and waited for together: behind other work, none has to wait for the host.
  std::vector<double> seconds_of_each(int times, const std::function<void()>& enqueue);
  /// Waits until all is done.
  void finish();

  struct calls;
  device_driver(DLDeviceType type, const calls& driver);

 private:
  friend class mapped_memory;
  /// Throws device_error.
  void check(const char* what, int code) const;
  /// A call that takes memory: too little is device_memory_error, once kept pages were given back and it was tried
  /// again.
  void take_memory(const char* what, const std::function<int()>& call);
  void release_free_pages();

  struct kept_memory {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;
  };
  std::byte* grown(kept_memory& kept, std::int64_t bytes, int (*allocate)(std::byte**, std::size_t),
                   int (*release)(std::byte*));
  unsigned long long take_page(std::int64_t bytes);
  void give_page(unsigned long long handle, std::int64_t bytes);

  const calls& driver_;
  DLDevice device_{};
  void* stream_ = nullptr;
  std::string name_;
  std::int64_t page_bytes_ = 0;
  kept_memory scratch_;
  kept_memory host_scratch_[2];
  std::multimap<std::int64_t, unsigned long long>
      free_pages_;  ///< by bytes: making them takes longer than mapping them
  std::int64_t free_bytes_ = 0;
  std::vector<void*> events_;  ///< kept: two of each work that was timed
};

/// A reservation of the device's addresses of which only some pages have memory, all of it filled with one byte.
class mapped_memory {
 public:
  /// `reserved` are the addresses, relative to the body; the pages that meet `used`, which ascends, have memory.
  mapped_memory(device_driver& on, index_range reserved, const std::vector<index_range>& used, std::byte filled);
  ~mapped_memory();
  mapped_memory(const mapped_memory&) = delete;
  mapped_memory& operator=(const mapped_memory&) = delete;

  /// A multiple of the page.
  std::byte* body() const { return body_; }
  /// What has memory, relative to the body: whole pages, ascending, not adjacent.
  const std::vector<index_range>& pages() const { return pages_; }

 private:
  struct mapping {
    std::byte* at;
    std::int64_t bytes;
    unsigned long long handle;
  };
  void map(index_range pages, std::byte filled);
  void release();

  device_driver& on_;
  std::byte* reserved_ = nullptr;
  std::int64_t reserved_bytes_ = 0;
  std::byte* body_ = nullptr;
  std::vector<index_range> pages_;
  std::vector<mapping> mappings_;
};

}  // namespace assay
