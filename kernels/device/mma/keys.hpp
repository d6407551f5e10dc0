/// Atoms with the keys of a wave on their long side, where the unit's atom is not square: see device/key_atoms.hpp.
/// This is the form of the cpu platform and of AMD, whose atoms are square: P comes out of them as the next one takes
/// it.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

inline constexpr int narrow_columns = 16;
inline constexpr int narrow_slots = 1;

template <class T>
using key_fragment = fragment<T>;
template <class T>
using query_fragment = fragment<T>;
template <class Acc>
using narrow_sums = accumulator<Acc>;

__device__ inline int narrow_row(int i) {
  return c_row(i);
}
__device__ inline int narrow_column(int i) {
  return c_column(i);
}

/// Whether FP8 values become f16 in fewer steps than bf16, and P may, too. AMD's older units flush f16 below 2^-14,
/// where most of a long row's P is.
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
inline constexpr bool prefers_half_values = true;
#else
inline constexpr bool prefers_half_values = false;
#endif

/// Lanes so far apart hold the same column of C.
inline constexpr int narrow_stride = 16;
/// CDNA's waves have 512 registers, RDNA's 256, and the cpu platform's atoms take Q from LDS.
#if defined(__GFX9__)
inline constexpr bool may_hold_queries = true;
#else
inline constexpr bool may_hold_queries = false;
#endif

#if !defined(__HIP_PLATFORM_ASSAY_CPU__)
/// Two floats that T has, too, side by side.
template <class T>
__device__ inline std::uint32_t exactly(float low, float high) {
  if constexpr (std::is_same_v<T, bf16>)
    return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xFFFF0000U);
  else
    return __builtin_bit_cast(std::uint32_t, __builtin_amdgcn_cvt_pkrtz(low, high));
}
#endif

#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
template <class Stored>
inline constexpr bool has_conversion = std::is_same_v<Stored, e4m3fnuz>;
#elif defined(__gfx950__) || defined(__GFX12__)
template <class Stored>
inline constexpr bool has_conversion = std::is_same_v<Stored, e4m3fn>;
#else
template <class Stored>
inline constexpr bool has_conversion = false;
#endif

/// Four FP8 elements side by side, exactly: by the hardware's conversion, or in pairs of f16 (fp8_words.hpp).
template <class Stored, class T>
__device__ inline void widen4(T* to, const Stored* from) {
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
  for (int i = 0; i < 4; ++i) to[i] = to_compute<T>(from[i]);
#else
  std::uint32_t word, pairs[2];
  __builtin_memcpy(&word, from, sizeof word);
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
  if constexpr (has_conversion<Stored>) {
    const auto low = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(word), false);
    const auto high = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(word), true);
    pairs[0] = exactly<T>(low[0], low[1]), pairs[1] = exactly<T>(high[0], high[1]);
    __builtin_memcpy(to, pairs, sizeof pairs);
    return;
  }
#endif
  ASSAY_UNROLL
  for (int i = 0; i < 2; ++i) {
    pairs[i] = widen_pair<Stored>(word, 2 * i, multiply_pair);
    if constexpr (!std::is_same_v<T, f16>) {
      const auto halves = __builtin_bit_cast(lanes_of<_Float16, 2>, pairs[i]);
      pairs[i] = exactly<T>(static_cast<float>(halves[0]), static_cast<float>(halves[1]));
    }
  }
  __builtin_memcpy(to, pairs, sizeof pairs);
#endif
}

/// `Count` stored elements side by side, as the matrix unit multiplies them.
template <int Count, class Stored, class T>
__device__ inline void load_widened(T* to, const unsigned char* from) {
  if constexpr (sizeof(Stored) == sizeof(T)) {
    load_adjacent<Count>(to, reinterpret_cast<const T*>(from));
  } else {
    Stored narrow[Count];
    load_adjacent<Count>(narrow, reinterpret_cast<const Stored*>(from));
    ASSAY_UNROLL
    for (int i = 0; i < Count; i += 4) widen4<Stored>(to + i, narrow + i);
  }
}

template <class Stored, class T>
__device__ inline void widen_chunk(uint4 (&to)[2], const uint4& codes) {
  load_widened<16, Stored>(reinterpret_cast<T*>(to), reinterpret_cast<const unsigned char*>(&codes));
}

template <class Stored, class T, class Rows>
__device__ inline void load_keys(key_fragment<T>& f, const Rows& keys, int step) {
  ASSAY_UNROLL
  for (int i = 0; i < f.count(); i += k_run) {
    const coordinate at = a_coordinate(i);
    load_widened<k_run, Stored>(f.value + i,
                                keys.at(at.outer, (step * atom_depth + at.k) * static_cast<int>(sizeof(Stored))));
  }
}

template <class Stored, class T>
__device__ inline void load_queries(query_fragment<T>& f, const swizzled_rows& queries, int step) {
  ASSAY_UNROLL
  for (int i = 0; i < f.count(); i += k_run) {
    const coordinate at = b_coordinate(i);
    load_adjacent<k_run>(f.value + i, reinterpret_cast<const T*>(queries.at(
                                          at.outer, (step * atom_depth + at.k) * static_cast<int>(sizeof(T)))));
  }
}

/// A lane takes four columns of each of its keys by one load. Element j of them belongs to atom j.
template <class Stored, class T, class Rows>
__device__ inline void load_values(key_fragment<T> (&f)[4], const Rows& values, int block) {
  ASSAY_UNROLL
  for (int i = 0; i < f[0].count(); ++i) {
    const coordinate at = a_coordinate(i);
    T row[4];
    load_widened<4, Stored>(row, values.at(at.k, (block * 64 + at.outer * 4) * static_cast<int>(sizeof(Stored))));
    ASSAY_UNROLL
    for (int j = 0; j < 4; ++j) f[j].value[i] = row[j];
  }
}
template <class Stored>
__device__ inline int value_column(int atom, int row) {
  return atom / 4 * 64 + row * 4 + atom % 4;
}

/// from_float(), as the compiler rounds: by the hardware where it can, else without branches.
template <class T>
__device__ inline T round_to(float x) {
#if defined(__AMDGCN__)
  using native = std::conditional_t<std::is_same_v<T, f16>, _Float16, __bf16>;
  return __builtin_bit_cast(T, static_cast<native>(x));
#else
  return from_float<T>(x);
#endif
}

/// P of the lane's elements of C as an operand. Where the operand holds every row of its column twice, in lanes 16
/// apart, the other half comes from the other lane.
template <class T>
__device__ inline void to_operand(query_fragment<T>& p,
                                  const float (&values)[sizeof(narrow_sums<float>) / sizeof(float)]) {
#if defined(__GFX11__)
  const bool is_upper = mma_lane() >= narrow_stride;
  ASSAY_UNROLL
  for (int i = 0; i < accumulator_elements; ++i) {
    const float other = __shfl_xor(values[i], narrow_stride, wave_lanes());
    p.value[2 * i] = round_to<T>(is_upper ? other : values[i]);
    p.value[2 * i + 1] = round_to<T>(is_upper ? values[i] : other);
  }
#else
  ASSAY_UNROLL
  for (int i = 0; i < p.count(); ++i) p.value[i] = round_to<T>(values[i]);
#endif
}

/// c[atom] = A_atom B over `steps` atoms, ascending. load_a(atom, step, fragment), load_b(half, step, fragment).
template <class T, int MostSteps, int Atoms, class Acc, int Halves, class LoadA, class LoadB>
__device__ inline void multiply_keys(narrow_sums<Acc> (*c)[Halves], int steps, LoadA load_a_step, LoadB load_b_step) {
  static_assert(Halves == 1);
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
  for (int atom = 0; atom < Atoms; ++atom)
    mma_chain<T>(
        c[atom][0], steps, [&](int i, auto& f) { load_a_step(atom, i, f); },
        [&](int i, auto& f) { load_b_step(0, i, f); });
#else
  const auto step = [&](int i) {
    fragment<T> b;
    load_b_step(0, i, b);
    ASSAY_UNROLL
    for (int atom = 0; atom < Atoms; ++atom) {
      fragment<T> a;
      load_a_step(atom, i, a);
      mma(c[atom][0], a, b);
    }
  };
  if constexpr (MostSteps > 0) {
    unrolled_steps<MostSteps>(steps, step);
  } else {
#pragma unroll 1  // atoms are convergent: by an unknown number no compiler unrolls them
    for (int i = 0; i < steps; ++i) step(i);
  }
#endif
}

/// c[half][atom] += A_atom B_half for the atoms of `blocks` blocks of 64 columns, of each atom of keys in turn.
/// load_a(atom of keys, block, fragments).
template <class T, int Halves, int Atoms, int KeyAtoms, class LoadA>
__device__ inline void multiply_values(narrow_sums<float> (&c)[Halves][Atoms], int blocks,
                                       const query_fragment<T> (&b)[KeyAtoms][Halves], LoadA load_a_block) {
  static_assert(Halves == 1);
  ASSAY_UNROLL
  for (int keys = 0; keys < KeyAtoms; ++keys) {
#if defined(__HIP_PLATFORM_ASSAY_CPU__)
    key_fragment<T> a[Atoms / 4][4];
    for (int block = 0; block < blocks; ++block) load_a_block(keys, block, a[block]);
    mma_fan<T>(c[0], blocks * 4, &a[0][0], b[keys][0]);
#else
    ASSAY_UNROLL
    for (int block = 0; block < Atoms / 4; ++block) {
      if (block >= blocks) continue;
      key_fragment<T> a[4];
      load_a_block(keys, block, a);
      ASSAY_UNROLL
      for (int j = 0; j < 4; ++j) mma(c[0][block * 4 + j], a[j], b[keys][0]);
    }
#endif
  }
}

}  // namespace assay::device
