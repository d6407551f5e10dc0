/// CUDA's name of a header: all is in cuda_runtime.h.
#pragma once

#include "cuda/cuda_runtime.h"
