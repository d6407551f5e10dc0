/// __nv_bfloat16 and __nv_bfloat162.
#pragma once

#include "cuda/cuda_runtime.h"
#include "hip/hip_bf16.h"

using __nv_bfloat16 = __hip_bfloat16;
using nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;
using nv_bfloat162 = __hip_bfloat162;
