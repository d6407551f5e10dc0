/// Matrix atoms of a wave with 16 keys of its own: S^T = K Q^T and O^T = V^T P^T. Queries are the columns, of which an
/// atom has `narrow_columns`; P goes from the one product to the other in registers. K, Q and V lie in LDS as
/// swizzled_rows. Stored: as K or V lies there; T: as the unit multiplies it. In device/mma, per platform:
///   key_fragment<T>, query_fragment<T>, narrow_sums<Acc>    a lane's share of A, of B, and of C
///   narrow_row(i), narrow_column(i)     coordinates of element i of C: a key (or a column of V), and a query
///   narrow_slots                        columns in which a lane has elements of C: element i is in slot
///                                       i % narrow_slots
///   load_keys<Stored>(f, keys, step)          A = K, 16 elements from 16 * step on
///   load_queries<Stored>(f, queries, step)    B = Q^T of the same elements; Stored is K's
///   load_values<Stored>(f, values, block)     A = V^T, four atoms: columns 64 * block to 64 * block + 63
///   widen_chunk<Stored, T>(to, codes)         16 FP8 elements as two chunks
///   value_column<Stored>(atom, row)           which column of V a row of O^T is
///   to_operand(f, values)                     C's elements, rounded to T, as B
///   multiply_keys<T, most, atoms>(c, steps, load_a, load_b)   of `atoms` atoms of keys; `most` steps are unrolled, so
///                                             that load_b may take from registers; 0: not
///   multiply_values<T>(c, blocks, b, load_a)  b: of one or more atoms of keys
///   may_hold_queries                          whether Q should stay in registers
///   prefers_half_values                       whether FP8 values, and P, should be multiplied as f16 where O is bf16
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/tensor.hpp"

#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
#include "kernels/device/mma/nvidia_keys.hpp"
#else
#include "kernels/device/mma/keys.hpp"
#endif

namespace assay::device {

inline constexpr int group_keys = 16;

/// Additions that an element of C passes through on its way into the sum of its column: in a binary tree over those
/// that its lane has, and then in join_column(). `lanes`: of a wave.
constexpr int narrow_sum_roundings([[maybe_unused]] int lanes) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  return 1;
#else
  return lanes == 64 ? 2 : 3;
#endif
}
constexpr int narrow_join_roundings([[maybe_unused]] int lanes) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  return 3;
#else
  return lanes == 64 ? 2 : 1;
#endif
}

/// Whether an atom's products of such keys stand in another order than the elements of their rows: then a unit that
/// joins them in several groups joins other ones.
inline bool reorders_products([[maybe_unused]] dtype k_type) {
#if defined(__HIP_PLATFORM_ASSAY_NVIDIA__)
  return assay::is_fp8(k_type);
#else
  return false;
#endif
}

/// Joins values of columns, each over the lanes that share it. The whole wave must come here. All values
/// take a step before one takes its next, which waits for its own step before.
template <int Count, class Join>
__device__ inline void join_each(float (&values)[Count], Join join) {
  for (int distance = narrow_stride; distance < (narrow_stride == 4 ? 32 : wave_lanes()); distance *= 2) {
    float others[Count];
    ASSAY_UNROLL
    for (int i = 0; i < Count; ++i) others[i] = __shfl_xor(values[i], distance, wave_lanes());
    ASSAY_UNROLL
    for (int i = 0; i < Count; ++i) values[i] = join(values[i], others[i]);
  }
}
template <class Join>
__device__ inline float join_column(float value, Join join) {
  float values[1] = {value};
  join_each(values, join);
  return values[0];
}

}  // namespace assay::device
