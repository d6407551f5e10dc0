/// Chains of matrix atoms on GPUs: one loop for all vendors' atoms.
#pragma once

#include <hip/hip_runtime.h>

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

}  // namespace assay::device
