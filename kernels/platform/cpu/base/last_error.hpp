/// HIP's error codes, as far as the platform reports them, and the calling OS thread's error state.
#pragma once

enum hipError_t : int {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorInvalidConfiguration = 9,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
};

namespace assay::cpu {

/// What hipGetLastError returns next.
void set_last_error(hipError_t error);

/// What hipGetLastError would return now.
hipError_t last_error();

}  // namespace assay::cpu
