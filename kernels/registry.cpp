/// The kernel library: its table of kernels.
#include <iterator>

#include "kernels/kernel_list.hpp"
#include "kernels/platform/current.hpp"

extern "C" [[gnu::visibility("default")]] std::int32_t assay_supports_generated_v1(void) {
  return 1;
}

extern "C" [[gnu::visibility("default")]] const assay_library* assay_library_v1(void) {
  using namespace assay;
#define ASSAY_KERNEL_ENTRY(name) name##_kernel,
  static const assay_kernel kernels[] = {ASSAY_KERNELS(ASSAY_KERNEL_ENTRY)};
#undef ASSAY_KERNEL_ENTRY
  static const assay_library library =
      ASSAY_DEVICE_LIBRARY(platform::name, kernels, std::size(kernels), platform::device_type);
  return &library;
}
