/// __half and __half2 under CUDA's header name.
#pragma once

#include "cuda/cuda_runtime.h"
#include "hip/hip_fp16.h"

using nv_half = __half;
using nv_half2 = __half2;
