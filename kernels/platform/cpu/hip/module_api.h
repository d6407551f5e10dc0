/// Code objects of GPUs, which cannot be run here: sources that load one compile, and each call says that it is not
/// supported.
#pragma once

#include "hip/runtime_api.h"

using hipDevice_t = int;
using hipModule_t = struct assay_module*;
using hipFunction_t = struct assay_function*;

#define HIP_LAUNCH_PARAM_BUFFER_POINTER (reinterpret_cast<void*>(0x01))
#define HIP_LAUNCH_PARAM_BUFFER_SIZE (reinterpret_cast<void*>(0x02))
#define HIP_LAUNCH_PARAM_END (reinterpret_cast<void*>(0x03))

inline hipError_t hipModuleLoad(hipModule_t*, const char* /*path*/) {
  return hipErrorNotSupported;
}
inline hipError_t hipModuleLoadData(hipModule_t*, const void* /*image*/) {
  return hipErrorNotSupported;
}
inline hipError_t hipModuleUnload(hipModule_t) {
  return hipErrorNotSupported;
}
inline hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char* /*name*/) {
  return hipErrorNotSupported;
}
inline hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned int /*grid_x*/, unsigned int /*grid_y*/,
                                        unsigned int /*grid_z*/, unsigned int /*block_x*/, unsigned int /*block_y*/,
                                        unsigned int /*block_z*/, unsigned int /*shared_bytes*/, hipStream_t,
                                        void** /*arguments*/, void** /*extra*/) {
  return hipErrorNotSupported;
}
