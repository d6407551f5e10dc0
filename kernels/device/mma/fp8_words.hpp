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
template <class T, class MultiplyPair>
__device__ inline std::uint32_t widen_pair(std::uint32_t word, int first, MultiplyPair multiply) {
  constexpr bool is_fnuz = std::is_same_v<T, e4m3fnuz>;
  const std::uint32_t x = (word >> (8 * first) & 0xFFU) | (word >> (8 * first + 8) & 0xFFU) << 16;
  const std::uint32_t rest = x & 0x007F007FU, sign = x & 0x00800080U;
  const std::uint32_t pair = multiply(sign << 8 | rest << 7, is_fnuz ? 0x58005800U : 0x5C005C00U);  // 2^7, 2^8
  // NaN is the code 0x80 of FNUZ, any sign of 0x7F of OCP: bit 7 of each half, spread over f16's exponent and quiet
  // bit.
  const std::uint32_t nan = is_fnuz ? sign & ~(rest + 0x007F007FU) : (rest + 0x00010001U) & 0x00800080U;
  return pair | nan * 0xFCU;
}

}  // namespace assay::device
