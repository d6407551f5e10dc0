/// The names of cuBLAS that ggml's headers mention. No attention kernel calls it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

enum cublasStatus_t : int { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasMath_t : int { CUBLAS_TF32_TENSOR_OP_MATH = 3 };
using cublasHandle_t = struct cublasContext*;

inline const char* cublasGetStatusString(cublasStatus_t) {
  return "there is no cuBLAS here";
}
inline cublasStatus_t cublasCreate(cublasHandle_t*) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
