/// hip_bfloat16: HIP's older name of bf16.
#pragma once

#include "hip/hip_bf16.h"
