/// hip_bfloat16, HIP's older type of bf16: a number of 16 bits that computes as a float.
#pragma once

#include "hip/hip_runtime.h"
#include "hip/small_floats.h"

struct hip_bfloat16 {
  std::uint16_t data;

  hip_bfloat16() = default;
  explicit hip_bfloat16(float x) : data(static_cast<std::uint16_t>(assay::cpu::narrowed_bf16(x))) {}
  operator float() const { return assay::cpu::widened_bf16(data); }  // NOLINT(google-explicit-constructor): as HIP's
};
