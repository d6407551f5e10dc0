/// HIP for the nvidia platform: the few names that the kernels use, over the CUDA runtime. Our own, since HIP's headers
/// for NVIDIA do not compile against CUDA 13.
#pragma once

#define __HIP_PLATFORM_ASSAY_NVIDIA__ 1

#include <cuda_runtime.h>

#include <cstddef>

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
inline constexpr hipError_t hipSuccess = cudaSuccess;

inline hipError_t hipGetLastError() {
  return cudaGetLastError();
}
inline const char* hipGetErrorString(hipError_t error) {
  return cudaGetErrorString(error);
}
inline hipError_t hipMalloc(void** memory, std::size_t size_bytes) {
  return cudaMalloc(memory, size_bytes);
}
inline hipError_t hipFree(void* memory) {
  return cudaFree(memory);
}
using hipMemcpyKind = cudaMemcpyKind;
inline constexpr hipMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
inline constexpr hipMemcpyKind hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size_bytes, hipMemcpyKind kind,
                                 hipStream_t stream) {
  return cudaMemcpyAsync(to, from, size_bytes, kind, stream);
}
inline hipError_t hipStreamSynchronize(hipStream_t stream) {
  return cudaStreamSynchronize(stream);
}

#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  (kernel)<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)

// CUDA's shuffles name the lanes that take part; HIP's unmasked ones mean the whole wave.
template <class T>
__device__ inline T __shfl(T value, int source, int width = 32) {
  return __shfl_sync(0xFFFFFFFFU, value, source, width);
}
template <class T>
__device__ inline T __shfl_xor(T value, int lane_mask, int width = 32) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, lane_mask, width);
}
