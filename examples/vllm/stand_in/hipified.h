/// The names of CUDA that vLLM's own build replaces in its sources (hipify) before hipcc compiles them.
#pragma once

#include <hip/hip_runtime.h>

using cudaDeviceProp = hipDeviceProp_t;
inline hipError_t cudaGetDevice(int* device) {
  return hipGetDevice(device);
}
inline hipError_t cudaGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  return hipGetDeviceProperties(properties, device);
}
