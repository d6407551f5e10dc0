/// Loops over matrix atoms on GPUs, for all vendors' atoms.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/platform/current.hpp"

namespace assay::device {

template <class T>
struct fragment;
template <class Acc>
struct accumulator;

/// See kernels/device/mma.hpp. Each vendor's header defines `mma`, which multiplies one pair of fragments.
template <class T, class Acc, class LoadA, class LoadB>
__device__ inline void mma_chain(accumulator<Acc>& c, int count, LoadA load_a_step, LoadB load_b_step) {
#pragma unroll 1  // unrolled, all fragments' loads are hoisted and the registers run out
  for (int i = 0; i < count; ++i) {
    fragment<T> a, b;
    load_a_step(i, a);
    load_b_step(i, b);
    mma(c, a, b);
  }
}

/// step(i) for i below `steps`, at most `Most`, unrolled. All of them are one straight piece, in which the compiler
/// overlaps the loads of a step and the products of others.
template <int Most, class Step>
__device__ __forceinline__ void unrolled_steps(int steps, Step step) {
  if (steps == Most) {
    ASSAY_UNROLL
    for (int i = 0; i < Most; ++i) step(i);
  } else {
    ASSAY_UNROLL
    for (int i = 0; i < Most; ++i)
      if (i < steps) step(i);
  }
}

}  // namespace assay::device
