/// Products of 16x16 tiles, as the matrix atoms of the cpu platform compute them.
#pragma once

#include <cstdint>

#include "kernels/matrix_atom.hpp"
#include "kernels/tensor.hpp"

namespace assay::cpu {

inline constexpr int tile_edge = 16;

/// A[row][k] and B[k][column] of T: bits of f16 or bf16, or int8. What no lane has is 0.
template <class T>
struct operand_tiles {
  T a[tile_edge][tile_edge] = {};
  T b[tile_edge][tile_edge] = {};
};

/// c += A B of `type`, f16 or bf16. The 16 products, exact in binary64 (11 or 8 bits times the same), are added in
/// ascending k to c in binary64, and the sum is rounded once to f32. Where atoms are chosen (chosen_atoms()), as these
/// say.
void multiply_tiles(dtype type, const operand_tiles<std::uint16_t>& tiles, float (&c)[tile_edge][tile_edge]);

/// c += A B, exact but for an overflow of int32.
void multiply_tiles(const operand_tiles<std::int8_t>& tiles, std::int32_t (&c)[tile_edge][tile_edge]);

/// Depth of FP8's atoms.
inline constexpr int fp8_depth = 32;

/// A[row][k] and B[k][column] of an FP8 type, by value.
struct fp8_tiles {
  double a[tile_edge][fp8_depth];
  double b[fp8_depth][tile_edge];
};

/// c += A B of E4M3 values. They are multiples of 2^-10 up to 448, so the 32 products are multiples of 2^-20 and their
/// sum is below 32 * 2^18: 43 bits, which binary64 holds exactly, in whatever order. c is added to it with one rounding
/// to binary64, and the result is rounded once to f32.
void multiply_tiles(const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]);

/// The same of warpgroups, and where atoms are chosen by group_fp8_atom().
void multiply_group_tiles(dtype type, const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]);

/// The same by `atom`, whose depth is at most the tile's.
void multiply_tiles_by(const matrix_atom& atom, const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]);

}  // namespace assay::cpu
