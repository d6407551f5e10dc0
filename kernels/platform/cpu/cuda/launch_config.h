/// cudaLaunchKernelEx and what it takes. The attribute that lets a kernel begin
/// before the one before it has ended means nothing here: launches are
/// synchronous. Others (clusters) are refused.
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

template <int WaveSize = assay::cpu::compiled_wave_size, class... Parameters, class... Arguments>
hipError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                              Arguments&&... arguments) {
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttributeID id = config->attrs[i].id;
    if (id != cudaLaunchAttributeIgnore && id != cudaLaunchAttributeProgrammaticStreamSerialization)
      return hipErrorNotSupported;
  }
  assay::cpu::launch_kernel<WaveSize>("kernel", kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                      config->stream, std::forward<Arguments>(arguments)...);
  return hipPeekAtLastError();
}
