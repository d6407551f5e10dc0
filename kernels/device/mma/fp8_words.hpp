/// Shared by the FP8 atoms of all platforms. A lane holds its elements of A or B as words of four consecutive k:
/// `word_coordinate(i)` gives row or column and the first k of word i, the same for A and B. Per platform, in
/// device/mma/<platform>_fp8.hpp:
///   fragment_words(), word_coordinate(i)
///   adjacent_words                      words i to i + adjacent_words - 1 lie side by side, for multiples i of it
///   mma_rows<T, MaxSteps>(c, wanted, steps, load_a, load_b)
///       c[n] += A_n0 B_0 + A_n1 B_1 + ... for each n with wanted(n); load_a(n, i, fragment), load_b(i, fragment)
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/convert.hpp"
#include "kernels/matrix_atom.hpp"

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
  alignas(8) std::uint32_t word[Words];
};

/// Bytes `first` and `first` + 1 of a word as a pair of f16, exactly. Exponent and fraction, moved to f16's place, are
/// the value times a power of two, which `multiply(pair, factor)` takes back on pairs of f16, subnormals included.
/// The steps are those that a GPU has as one instruction: a byte permutation, and `a & b | c`. `first`: 0 or 2.
template <class T, class MultiplyPair>
__device__ inline std::uint32_t widen_pair(std::uint32_t word, int first, MultiplyPair multiply) {
  constexpr bool is_fnuz = std::is_same_v<T, e4m3fnuz>;
  constexpr std::uint32_t signs = 0x80008000U;
#if defined(__AMDGCN__)
  const std::uint32_t x = __builtin_amdgcn_perm(0, word, first == 0 ? 0x010C000CU : 0x030C020CU);  // 0x0C: a zero byte
#else
  const std::uint32_t x = (word >> (8 * first) & 0xFFU) << 8 | (word >> (8 * first + 8) & 0xFFU) << 24;
#endif
  const std::uint32_t rest = x & ~signs & 0xFF00FF00U;
  const std::uint32_t pair = multiply((x & signs) | rest >> 1, is_fnuz ? 0x58005800U : 0x5C005C00U);  // 2^7, 2^8
  if constexpr (is_fnuz) {
    // NaN is the code 0x80, where nothing carries into the sign's place.
    const std::uint32_t nan = x & ~(rest + 0x7F007F00U) & signs;
    return pair | (nan - (nan >> 6));  // 0x7E00 in each half
  } else {
    // NaN is any sign of 0x7F, which carries. It was taken for 480 here, whose exponent lacks bit 13.
    return ((rest + 0x01000100U) >> 2 & signs >> 2) | pair;
  }
}

/// Of an atom of f16 that multiplies widened elements: where lane t of four has k = 2t, 2t + 1, 2t + 8 and 2t + 9 there
/// stand k = 4t to 4t + 3. Two groups of 8 then take pairs in turn; of units that join products in smaller groups or
/// one by one nothing is declared.
inline matrix_atom with_reordered_products(matrix_atom a) {
  if (a.sum != atom_sum::aligned) return {};
  if (a.group == 8) a.run = 2;
  return a.group >= 8 ? a : matrix_atom{};
}

}  // namespace assay::device
