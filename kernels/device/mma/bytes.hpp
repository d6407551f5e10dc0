/// What the FP8 atoms of all platforms share. A lane holds its elements of A or B as words of four consecutive k:
/// `word_coordinate(i)` gives row or column and the first k of word i, the same for A and B. Per platform, in
/// device/mma/<platform>_fp8.hpp:
///   fragment_words(), word_coordinate(i)
///   mma_panel<T, MaxSteps>(c, columns, steps, load_a, load_b)
///       c[n] += A_0 B_0n + A_1 B_1n + ... for n < columns; load_a(i, fragment), load_b(n, i, fragment)
///   max_row_slots, row_slots(), row_slot(i), row_of(slot), leads_row()
///       the rows in which a lane has elements of C: how many, which of them element i belongs to, which row of the
///       tile that is, and whether the lane is the first one of the row
///   reduce_rows(values, joined)         values[slot] = joined(.., ..) over the lanes that share that row
///   row_sum_roundings                   most additions that an element of one atom passes through on its way into the
///                                       sum of its row: within the lane, then in reduce_rows
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/convert.hpp"

namespace assay::device {

/// Depth of an FP8 atom.
inline constexpr int byte_atom_depth = 32;

template <class T>
inline constexpr bool is_fp8 = false;
template <>
inline constexpr bool is_fp8<e4m3fn> = true;
template <>
inline constexpr bool is_fp8<e4m3fnuz> = true;

/// Row or column of an operand, and k.
struct word_place {
  int outer;
  int k;
};

template <int Words>
struct byte_fragment {
  std::uint32_t word[Words];
};

struct larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

}  // namespace assay::device
