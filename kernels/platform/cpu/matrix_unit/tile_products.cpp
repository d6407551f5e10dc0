#include "kernels/platform/cpu/matrix_unit/tile_products.hpp"

#include <bit>
#include <cmath>

#include "kernels/platform/cpu/matrix_unit/matrix_unit.hpp"

// For AVX2, too: the loader chooses. It would do so before a sanitizer's runtime starts.
#if defined(__x86_64__) && defined(__ELF__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
#define ASSAY_VECTOR_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define ASSAY_VECTOR_CLONES
#endif

namespace assay::cpu {
namespace {

/// The bits as a number. Without a branch, which the compiler vectorises.
double value_of(dtype type, std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16, rest = bits & 0x7FFFU;
  if (type == dtype::bf16) return static_cast<double>(std::bit_cast<float>(sign | rest << 16));
  // Moved to f32's place, exponent and fraction are the value times 2^(15 - 127).
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112F);
  const std::uint32_t magnitude = rest >= 0x7C00U ? 0x7F800000U | (rest & 0x3FFU) << 13 : finite;
  return static_cast<double>(std::bit_cast<float>(sign | magnitude));
}

/// Rows of A that add nothing, and so need no product: a row of zeros, unless B has infinities or NaN. Most rows of a
/// decode tile are padding.
template <int Depth>
struct idle_rows {
  bool is_idle[tile_edge] = {};
  idle_rows(const double (&a)[tile_edge][Depth], const double (&b)[Depth][tile_edge]) {
    double spoiled[tile_edge] = {};  // 0 x is 0 for finite x, NaN otherwise
    for (int k = 0; k < Depth; ++k)
      for (int n = 0; n < tile_edge; ++n) spoiled[n] += 0 * b[k][n];
    bool b_is_finite = true;
    for (const double sum : spoiled) b_is_finite &= sum == 0;
    for (int row = 0; row < tile_edge; ++row) {
      bool is_zero = true;
      for (int k = 0; k < Depth; ++k) is_zero &= a[row][k] == 0;
      is_idle[row] = is_zero && b_is_finite;
    }
  }
};

template <int Depth>
void multiply_by(const matrix_atom& atom, const double (&a)[tile_edge][Depth], const double (&b)[Depth][tile_edge],
                 float (&c)[tile_edge][tile_edge]) {
  const idle_rows<Depth> rows(a, b);
  operand of_a[Depth], of_b[tile_edge][Depth];
  for (int n = 0; n < tile_edge; ++n)
    for (int k = 0; k < Depth; ++k) of_b[n][k] = operand_of(b[k][n], atom);
  for (int row = 0; row < tile_edge; ++row) {
    bool is_idle = rows.is_idle[row];
    for (const float x : c[row]) is_idle &= x == 0;  // what a sum is that holds nothing but c, the atom says
    if (is_idle) continue;
    for (int k = 0; k < Depth; ++k) of_a[k] = operand_of(a[row][k], atom);
    for (int n = 0; n < tile_edge; ++n)
      for (int k = 0; k < Depth; k += atom.products) c[row][n] = multiply_add(atom, of_a + k, of_b[n] + k, c[row][n]);
  }
}

struct half_values {
  double a[tile_edge][tile_edge];
  double b[tile_edge][tile_edge];
};

ASSAY_VECTOR_CLONES void widen(dtype type, const operand_tiles<std::uint16_t>& tiles, half_values& to) {
  for (int row = 0; row < tile_edge; ++row)
    for (int k = 0; k < tile_edge; ++k) to.a[row][k] = value_of(type, tiles.a[row][k]);
  for (int k = 0; k < tile_edge; ++k)
    for (int n = 0; n < tile_edge; ++n) to.b[k][n] = value_of(type, tiles.b[k][n]);
}

ASSAY_VECTOR_CLONES void multiply(const half_values& tiles, const idle_rows<tile_edge>& rows,
                                  float (&c)[tile_edge][tile_edge]) {
  for (int row = 0; row < tile_edge; ++row) {
    if (rows.is_idle[row]) continue;
    double sum[tile_edge];
    for (int n = 0; n < tile_edge; ++n) sum[n] = static_cast<double>(c[row][n]);
    for (int k = 0; k < tile_edge; ++k)
      for (int n = 0; n < tile_edge; ++n) sum[n] += tiles.a[row][k] * tiles.b[k][n];
    for (int n = 0; n < tile_edge; ++n) c[row][n] = static_cast<float>(sum[n]);
  }
}

ASSAY_VECTOR_CLONES void multiply(const fp8_tiles& tiles, const idle_rows<fp8_depth>& rows,
                                  float (&c)[tile_edge][tile_edge]) {
  for (int row = 0; row < tile_edge; ++row) {
    if (rows.is_idle[row]) continue;
    double products[tile_edge] = {};
    for (int k = 0; k < fp8_depth; ++k)
      for (int n = 0; n < tile_edge; ++n) products[n] += tiles.a[row][k] * tiles.b[k][n];
    for (int n = 0; n < tile_edge; ++n) c[row][n] = static_cast<float>(static_cast<double>(c[row][n]) + products[n]);
  }
}

}  // namespace

void multiply_tiles(dtype type, const operand_tiles<std::uint16_t>& tiles, float (&c)[tile_edge][tile_edge]) {
  half_values values;
  widen(type, tiles, values);
  if (const named_atoms* const atoms = chosen_atoms(); atoms != nullptr)
    multiply_by(atoms->of(type), values.a, values.b, c);
  else
    multiply(values, {values.a, values.b}, c);
}

ASSAY_VECTOR_CLONES void multiply_tiles(const operand_tiles<std::int8_t>& tiles,
                                        std::int32_t (&c)[tile_edge][tile_edge]) {
  for (int row = 0; row < tile_edge; ++row)
    for (int k = 0; k < tile_edge; ++k)
      for (int n = 0; n < tile_edge; ++n) c[row][n] += tiles.a[row][k] * tiles.b[k][n];
}

void multiply_tiles(const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]) {
  multiply(tiles, {tiles.a, tiles.b}, c);
}

void multiply_group_tiles(dtype type, const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]) {
  if (const named_atoms* const atoms = chosen_atoms(); atoms != nullptr)
    multiply_by(group_fp8_atom(*atoms, type), tiles.a, tiles.b, c);
  else
    multiply_tiles(tiles, c);
}

void multiply_tiles_by(const matrix_atom& atom, const fp8_tiles& tiles, float (&c)[tile_edge][tile_edge]) {
  multiply_by(atom, tiles.a, tiles.b, c);
}

}  // namespace assay::cpu
