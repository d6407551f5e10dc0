/// cudaLaunchKernelEx and what it takes. The attribute that lets a kernel begin
/// before the one before it has ended counts in sources that are compiled for
/// sm_90 or later, whose kernels can wait: launches are in turn, and checked as
/// if it began early. Other attributes (clusters) are refused.
#pragma once

#include "hip/hip_runtime.h"

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};
union cudaLaunchAttributeValue {
  int cooperative;
  int programmaticStreamSerializationAllowed;
  struct {
    unsigned int x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  hipStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

/// There are no clusters.
template <class F>
hipError_t cudaOccupancyMaxPotentialClusterSize(int*, F*, const cudaLaunchConfig_t*) {
  return hipErrorNotSupported;
}

namespace assay::cpu {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
static constexpr bool compiled_for_early_launches = true;
#else
static constexpr bool compiled_for_early_launches = false;
#endif
}  // namespace assay::cpu

/// Programmatic dependent launch, as functions.
inline void cudaGridDependencySynchronize() {
  assay::cpu::await_kernel_before();
}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// Parameters of the template, since two files may differ in them.
template <int WaveSize = assay::cpu::compiled_wave_size,
          bool HasEarlyLaunches = assay::cpu::compiled_for_early_launches, class... Parameters, class... Arguments>
hipError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                              Arguments&&... arguments) {
  bool may_start_early = false;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttributeID id = config->attrs[i].id;
    if (HasEarlyLaunches && id == cudaLaunchAttributeProgrammaticStreamSerialization)
      may_start_early = config->attrs[i].val.programmaticStreamSerializationAllowed != 0;
    if (id != cudaLaunchAttributeIgnore && id != cudaLaunchAttributeProgrammaticStreamSerialization)
      return hipErrorNotSupported;
  }
  assay::cpu::launch_behind<WaveSize>(may_start_early, "kernel", kernel, config->gridDim, config->blockDim,
                                      config->dynamicSmemBytes, config->stream, std::forward<Arguments>(arguments)...);
  return hipPeekAtLastError();
}
