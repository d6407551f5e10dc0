/// Products of heads and keys on NVIDIA's GPUs without warpgroups, by mma.sync: each wave multiplies its 16 keys. What
/// lies where is as in warpgroup_heads.hpp.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/mma/nvidia_keys.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

/// dots[atom] = products of `steps` atoms of the reduction; 0 of atoms that are not wanted.
template <int MostSteps, int Atoms, class Wanted, class Panel>
__device__ __forceinline__ void multiply_heads(narrow_sums<float> (&dots)[Atoms], Wanted wanted, const Panel& heads,
                                               const key_fragment<f16> (&keys)[MostSteps], int steps) {
  ASSAY_UNROLL
  for (int atom = 0; atom < Atoms; ++atom) dots[atom] = {};
  ASSAY_UNROLL
  for (int step = 0; step < MostSteps; ++step) {
    if (step >= steps) continue;
    ASSAY_UNROLL
    for (int atom = 0; atom < Atoms; ++atom) {
      if (!wanted(atom)) continue;
      query_fragment<f16> b;
      load_queries<f16>(b, heads.strip_of(step).from(atom * narrow_columns), step % 4);
      multiply_narrow(dots[atom], keys[step], b);
    }
  }
}

}  // namespace assay::device
