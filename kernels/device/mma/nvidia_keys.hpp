/// Atoms with the keys of a wave on their long side, m16n8k16: see device/key_atoms.hpp. Fragments of f16 and bf16 come
/// by ldmatrix. FP8 and int8 come by it, too, in pairs: of 16 bytes of a row a lane gets four that follow each other.
/// They are k = 4t to 4t + 3 where the unit's layout has k = 2t, 2t + 1, 2t + 8, 2t + 9, in both operands alike, so
/// that the sum over an atom's 16 products has the same terms.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/swizzled_rows.hpp"

namespace assay::device {

inline constexpr int narrow_columns = 8;
inline constexpr int narrow_slots = 2;
inline constexpr int narrow_stride = 4;
inline constexpr bool may_hold_queries = true;
inline constexpr bool prefers_half_values = true;

/// Of int8 the first half.
template <class T>
struct key_fragment {
  unsigned int word[4];
};
template <class T>
struct query_fragment {
  unsigned int word[2];
};
template <class Acc>
struct narrow_sums {
  Acc value[4] = {};
  __device__ static constexpr int count() { return 4; }
};

__device__ inline int narrow_row(int i) {
  return mma_lane() / 4 + 8 * (i / 2);
}
__device__ inline int narrow_column(int i) {
  return mma_lane() % 4 * 2 + i % 2;
}

/// Where a chunk lies in shared memory. The base is converted, not the chunk's address, so that this is done once for
/// all chunks.
template <class Rows>
__device__ inline unsigned int shared_number(const Rows& rows, int row, int chunk) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(rows.base)) +
         static_cast<unsigned int>(rows.chunk_offset(row, chunk));
}
/// Matrices of 8 rows of 16 bytes, whose rows lanes 8i to 8i + 7 name. Lane l gets the l % 4-th word of row l / 4;
/// transposed, elements 2 (l % 4) and the next of column l / 4.
__device__ inline void load_matrices(unsigned int& a, unsigned int& b, unsigned int row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(row) : "memory");
}
__device__ inline void load_matrices(unsigned int (&to)[4], unsigned int row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned int (&to)[4], unsigned int row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
/// An 8x8 matrix of pairs in the layout of C becomes its transpose, in the layout of B.
__device__ inline unsigned int transpose_matrix(unsigned int x) {
  unsigned int y;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

/// Two floats, rounded to a pair of T.
template <class T>
__device__ inline unsigned int round_pair(float low, float high) {
  unsigned int pair;
  if constexpr (std::is_same_v<T, bf16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// A pair of f16 as one of T, exactly: what FP8 can be.
template <class T>
__device__ inline unsigned int narrowed_pair(unsigned int pair) {
  if constexpr (std::is_same_v<T, f16>) return pair;
  float low, high;
  asm("{.reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
      : "=f"(low), "=f"(high)
      : "r"(pair));
  return round_pair<T>(low, high);
}
/// The four bytes of a word as two pairs of T, exactly.
template <class Stored, class T>
__device__ inline void widen_word(unsigned int& low, unsigned int& high, unsigned int bytes) {
  widen_word<Stored>(low, high, bytes);
  low = narrowed_pair<T>(low), high = narrowed_pair<T>(high);
}

template <class Stored, class T>
__device__ inline void widen_chunk(uint4 (&to)[2], const uint4& codes) {
  widen_word<Stored, T>(to[0].x, to[0].y, codes.x), widen_word<Stored, T>(to[0].z, to[0].w, codes.y);
  widen_word<Stored, T>(to[1].x, to[1].y, codes.z), widen_word<Stored, T>(to[1].z, to[1].w, codes.w);
}

template <class Stored, class T, class Rows>
__device__ inline void load_keys(key_fragment<T>& f, const Rows& keys, int step) {
  const int lane = mma_lane();
  if constexpr (sizeof(Stored) == 2) {
    load_matrices(f.word, shared_number(keys, lane % 16, step * 2 + lane / 16));
  } else {
    unsigned int upper, lower;  // rows lane / 4, and 8 further on
    load_matrices(upper, lower, shared_number(keys, lane % 16, step));
    if constexpr (std::is_same_v<Stored, std::int8_t>) {
      f.word[0] = upper, f.word[1] = lower;
    } else {
      widen_word<Stored, T>(f.word[0], f.word[2], upper);
      widen_word<Stored, T>(f.word[1], f.word[3], lower);
    }
  }
}

template <class Stored, class T>
__device__ inline void load_queries(query_fragment<T>& f, const swizzled_rows& queries, int step) {
  const int lane = mma_lane();
  if constexpr (sizeof(Stored) == 2) {
    load_matrices(f.word[0], f.word[1], shared_number(queries, lane % 8, step * 2 + lane / 8 % 2));
  } else if constexpr (std::is_same_v<Stored, std::int8_t>) {
    f.word[0] = *reinterpret_cast<const unsigned int*>(queries.at(lane / 4, step * 16 + lane % 4 * 4));
  } else {
    const uint2 words = *reinterpret_cast<const uint2*>(queries.at(lane / 4, step * 32 + lane % 4 * 8));
    f.word[0] = words.x, f.word[1] = words.y;
  }
}

/// Of FP8 a transposed matrix has pairs of columns: rows r and r + 8 of an atom are columns 2r and 2r + 1.
template <class Stored, class T, class Rows>
__device__ inline void load_values(key_fragment<T> (&f)[4], const Rows& values, int block) {
  const int lane = mma_lane();
  if constexpr (sizeof(Stored) == 2) {
    ASSAY_UNROLL
    for (int j = 0; j < 4; ++j)
      load_matrices_transposed(f[j].word,
                               shared_number(values, lane % 8 + lane / 16 * 8, block * 8 + j * 2 + lane / 8 % 2));
  } else {
    ASSAY_UNROLL
    for (int j = 0; j < 4; j += 2) {
      unsigned int pairs[4];  // keys 0 to 7 and 8 to 15 of chunk j, then of the next one
      load_matrices_transposed(pairs, shared_number(values, lane % 16, block * 4 + j + lane / 16));
      ASSAY_UNROLL
      for (int i = 0; i < 4; ++i) {
        unsigned int(&words)[4] = f[j + i / 2].word;
        widen_word<Stored, T>(words[i % 2 * 2], words[i % 2 * 2 + 1], __byte_perm(pairs[i], 0, 0x3120));
      }
    }
  }
}
template <class Stored>
__device__ inline int value_column(int atom, int row) {
  return atom * 16 + (sizeof(Stored) == 2 ? row : row % 8 * 2 + row / 8);
}

template <class T>
__device__ inline void to_operand(query_fragment<T>& p, const float (&values)[4]) {
  p.word[0] = transpose_matrix(round_pair<T>(values[0], values[1]));
  p.word[1] = transpose_matrix(round_pair<T>(values[2], values[3]));
}

template <class T>
__device__ inline void multiply_narrow(narrow_sums<float>& c, const key_fragment<T>& a, const query_fragment<T>& b) {
  mma_half(c.value, a.word, b.word, T{});
}
__device__ inline void multiply_narrow(narrow_sums<std::int32_t>& c, const key_fragment<std::int8_t>& a,
                                       const query_fragment<std::int8_t>& b) {
  mma_half(c.value, a.word, b.word[0]);
}

/// The atoms take turns at the unit: each of their products waits for its last one.
template <class T, int MostSteps, int Atoms, class Acc, int Halves, class LoadA, class LoadB>
__device__ inline void multiply_keys(narrow_sums<Acc> (*c)[Halves], int steps, LoadA load_a_step, LoadB load_b_step) {
  const auto step = [&](int i) {
    key_fragment<T> a[Atoms];
    ASSAY_UNROLL
    for (int atom = 0; atom < Atoms; ++atom) load_a_step(atom, i, a[atom]);
    ASSAY_UNROLL
    for (int half = 0; half < Halves; ++half) {
      query_fragment<T> b;
      load_b_step(half, i, b);
      ASSAY_UNROLL
      for (int atom = 0; atom < Atoms; ++atom) multiply_narrow(c[atom][half], a[atom], b);
    }
  };
  if constexpr (MostSteps > 0) {
    unrolled_steps<MostSteps>(steps, step);
  } else {
#pragma unroll 4
    for (int i = 0; i < steps; ++i) step(i);
  }
}

/// The loads of 64 columns are all on their way before the first product of these.
template <class T, int Halves, int Atoms, int KeyAtoms, class LoadA>
__device__ inline void multiply_values(narrow_sums<float> (&c)[Halves][Atoms], int blocks,
                                       const query_fragment<T> (&b)[KeyAtoms][Halves], LoadA load_a_block) {
  const auto of_block = [&](int block) {
    key_fragment<T> a[KeyAtoms][4];
    ASSAY_UNROLL
    for (int keys = 0; keys < KeyAtoms; ++keys) load_a_block(keys, block, a[keys]);
    ASSAY_UNROLL
    for (int keys = 0; keys < KeyAtoms; ++keys) ASSAY_UNROLL
    for (int j = 0; j < 4; ++j) ASSAY_UNROLL
    for (int half = 0; half < Halves; ++half) multiply_narrow(c[half][block * 4 + j], a[keys][j], b[keys][half]);
  };
  if constexpr (Atoms <= 8) {
    unrolled_steps<Atoms / 4>(blocks, of_block);
  } else {  // they have no registers for two pieces
    ASSAY_UNROLL
    for (int block = 0; block < Atoms / 4; ++block)
      if (block < blocks) of_block(block);
  }
}

}  // namespace assay::device
