/// Matrix atoms: a wave multiplies a 16x16 tile A[row][k] by B[k][column] onto C[row][column]. A and B hold f16, bf16
/// or int8, C holds f32 or, for int8, int32. Which lane holds which elements differs per platform; kernels ask `c_row`,
/// `c_column`, and load A and B by coordinate. In device/mma, per platform:
///   fragment<T>, accumulator<Acc>       a lane's share; `count()` elements of it are in use
///   a_coordinate(i), b_coordinate(i)    {row or column, k} of element i of the calling lane
///   k_run                               elements i to i + k_run - 1 are neighbours in k, for multiples i of it
///   mma_chain(c, count, load_a, load_b) c += A_0 B_0 + ... + A_n-1 B_n-1, atom by atom, ascending; load_x(i, fragment)
///   accumulation_model(type)            what one atom's arithmetic does, for the contract
///   flushed_below(type)                 P below this magnitude may be taken as 0, for the contract
/// FP8 is multiplied by atoms of depth 32: device/mma/fp8_words.hpp.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

#if defined(__HIP_PLATFORM_ASSAY_CPU__)
#include "kernels/device/mma/cpu_fp8.hpp"
#elif defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/nvidia_fp8.hpp"
#else
#include "kernels/device/mma/amd_fp8.hpp"
#endif

namespace assay::device {

inline constexpr int atom_rows = 16;
inline constexpr int atom_columns = 16;

/// Depth of an atom: products that one atom joins. The padding of a tile's reduction extent follows from it.
inline constexpr int atom_depth = 16;

/// The calling thread's wave in its block.
__device__ inline int wave_of_block() {
  const int wave = static_cast<int>(threadIdx.x) / wave_lanes();
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
  return wave;  // uniform() meets the other lanes there, to look at their values
#else
  return platform::uniform(wave);
#endif
}

/// A[row][k] at a[row * row_stride + k]; stride and address are multiples of k_run elements.
template <class T>
__device__ inline void load_a(fragment<T>& f, const T* a, int row_stride) {
  for (int i = 0; i < f.count(); i += k_run) {
    const coordinate at = a_coordinate(i);
    load_adjacent<k_run>(f.value + i, a + at.outer * row_stride + at.k);
  }
}

/// B[k][column] at b[column * column_stride + k]; stride and address are multiples of k_run elements.
template <class T>
__device__ inline void load_b_by_columns(fragment<T>& f, const T* b, int column_stride) {
  for (int i = 0; i < f.count(); i += k_run) {
    const coordinate at = b_coordinate(i);
    load_adjacent<k_run>(f.value + i, b + at.outer * column_stride + at.k);
  }
}

/// B[k][column] at b[k * row_stride + column].
template <class T>
__device__ inline void load_b_by_rows(fragment<T>& f, const T* b, int row_stride) {
  for (int i = 0; i < f.count(); ++i) {
    const coordinate at = b_coordinate(i);
    f.value[i] = b[at.k * row_stride + at.outer];
  }
}

/// FP8's A[row][k] at a[row * stride + k], or B[k][column] at b[column * stride + k]; stride and address are multiples
/// of adjacent_words words.
template <int Words, class T>
__device__ inline void load_words(byte_fragment<Words>& f, const T* from, int stride) {
  ASSAY_UNROLL
  for (int i = 0; i < fragment_words(); i += adjacent_words) {
    const word_place at = word_coordinate(i);
    load_adjacent<adjacent_words>(f.word + i, reinterpret_cast<const std::uint32_t*>(from + at.outer * stride + at.k));
  }
}

}  // namespace assay::device
