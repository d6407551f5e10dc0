// A kernel library with tensors on the device of fake_driver.cpp: the built-in kernels, from the library beside this
// file's folder. ASSAY_FAKE_DEVICE makes it faulty: "wrong_output" (of a case with more than 32 keys o[0] is wrong),
// "error" (such a case is an illegal access), "hang" (such a case does not end), "refuse" (it takes no problem). A copy
// whose name begins with "fault_" has a wrong output without being asked.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/library.h"

namespace {

std::string own_file() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 ? info.dli_fname : "";
}

std::string planted() {
  const char* const given = std::getenv("ASSAY_FAKE_DEVICE");
  if (given != nullptr) return given;
  const std::string file = own_file();
  return file.substr(file.rfind('/') + 1).starts_with("fault_") ? "wrong_output" : "";
}

const assay_library& on_the_host() {
  static const assay_library* const table = [] {
    const std::string file = own_file();
    const char* const given = std::getenv("ASSAY_FAKE_DEVICE_KERNELS");
    const std::string kernels =
        given != nullptr ? given : file.substr(0, file.rfind('/')) + "/../assay_kernels_cpu_unchecked.so";
    void* const handle = dlopen(kernels.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return static_cast<const assay_library*>(nullptr);
    return reinterpret_cast<const assay_library* (*)()>(dlsym(handle, "assay_library_v1"))();
  }();
  if (table == nullptr) std::abort();
  return *table;
}

void break_output(const std::vector<assay_tensor>& tensors) {
  for (const assay_tensor& t : tensors) {
    if (std::strcmp(t.name, "o") != 0 || t.view.data == nullptr) continue;
    for (int d = 0; d < t.view.ndim; ++d)
      if (t.view.shape[d] == 0) return;
    auto* const first = static_cast<unsigned char*>(t.view.data) + t.view.byte_offset;
    first[t.view.dtype.bits / 8 - 1] ^= 0x40U;  // of its exponent
  }
}

void fail_next_wait() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  reinterpret_cast<void (*)()>(dlsym(driver, "fake_driver_fail_next"))();
}

template <int Kernel>
assay_status plan(const assay_problem* p, std::int64_t budget, assay_plan* out) {
  if (planted() == "refuse") return {ASSAY_UNSUPPORTED, "planted"};
  return on_the_host().kernels[Kernel].plan(p, budget, out);
}

/// The same tensors, said to be on the host; empty if one is not said to be on the device.
std::vector<assay_tensor> host_tensors(const assay_tensor* given, std::int32_t count) {
  std::vector<assay_tensor> tensors(given, given + count);
  for (assay_tensor& t : tensors) {
    if (t.view.device.device_type != kDLCUDA) return {};
    t.view.device = {kDLCPU, 0};
  }
  return tensors;
}

template <int Kernel>
assay_status outcome(const assay_problem* p, const assay_tensor* given, std::int32_t count,
                     const assay_launch* launch) {
  return on_the_host().kernels[Kernel].outcome(p, host_tensors(given, count).data(), count, launch);
}

template <int Kernel>
assay_status run(const assay_problem* p, const assay_tensor* given, std::int32_t count, const assay_launch* launch) {
  const std::vector<assay_tensor> tensors = host_tensors(given, count);
  if (tensors.empty() && count > 0) return {ASSAY_REJECTED, "a tensor on another device"};
  const assay_status status = on_the_host().kernels[Kernel].run(p, tensors.data(), count, launch);
  const std::string fault = p->max_k > 32 ? planted() : "";
  if (fault == "wrong_output") break_output(tensors);
  if (fault == "error") fail_next_wait();
  while (fault == "hang") pause();
  return status;
}

template <int... Kernel>
std::vector<assay_kernel> kernels_on_the_device(std::integer_sequence<int, Kernel...>) {
  return {{on_the_host().kernels[Kernel].name, plan<Kernel>, on_the_host().kernels[Kernel].declare, run<Kernel>,
           on_the_host().kernels[Kernel].outcome != nullptr ? outcome<Kernel> : nullptr}...};
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const assay_library* assay_library_v1() {
  static const std::vector<assay_kernel> kernels = kernels_on_the_device(std::make_integer_sequence<int, 4>());
  static const assay_library table = ASSAY_DEVICE_LIBRARY("nvidia", kernels.data(), 4, kDLCUDA);
  return &table;
}
