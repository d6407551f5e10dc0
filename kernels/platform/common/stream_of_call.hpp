/// The stream of a call, on platforms whose tensors are on a device.
#pragma once

#include <hip/hip_runtime.h>

#include <span>

#include "kernels/library.h"

namespace assay::platform {

/// On which kernels of a call are launched: what its launch_guard has.
inline thread_local hipStream_t stream_of_call = nullptr;
inline hipStream_t stream() {
  return stream_of_call;
}

/// What a launch holds while it runs: its stream. The constructor clears an error that an earlier call left behind.
class launch_guard {
 public:
  launch_guard(const assay_launch& launch, std::span<const assay_tensor>) {
    static_cast<void>(hipGetLastError());
    stream_of_call = static_cast<hipStream_t>(launch.stream);
  }
  ~launch_guard() { stream_of_call = nullptr; }
  launch_guard(const launch_guard&) = delete;
  launch_guard& operator=(const launch_guard&) = delete;
};

}  // namespace assay::platform
