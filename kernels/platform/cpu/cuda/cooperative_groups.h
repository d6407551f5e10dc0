/// Cooperative groups under CUDA's header name.
#pragma once

#include "cuda/cuda_runtime.h"
#include "hip/hip_cooperative_groups.h"
