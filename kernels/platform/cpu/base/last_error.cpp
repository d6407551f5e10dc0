#include "kernels/platform/cpu/base/last_error.hpp"

namespace assay::cpu {
namespace {

thread_local constinit hipError_t last = hipSuccess;

}  // namespace

void set_last_error(hipError_t error) {
  last = error;
}

hipError_t last_error() {
  return last;
}

}  // namespace assay::cpu
