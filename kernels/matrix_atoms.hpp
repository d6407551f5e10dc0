/// Atoms of known matrix units, by name (matrix_atom.hpp says what they mean).
///
/// Sources: MMA-Sim (arXiv 2511.10909, github.com/microsoft/MMA-Sim), which compares its models with ten architectures
/// bit by bit; Khattak and Mikaitis, arXiv 2512.07004 (V100, A100, H100, B200); and for Hopper's f16, bf16 and FP8 our
/// own measurement (tests/gpu/results/atoms-h100.md), which has subnormals and zero products too. `assay probe` repeats
/// it.
#pragma once

#include <cstring>
#include <iterator>

#include "kernels/matrix_atom.hpp"
#include "kernels/tensor.hpp"

namespace assay {

/// Exponent of the smallest normal number of an operand's type.
constexpr std::int32_t least_exponent_of(dtype type) {
  switch (type) {
    case dtype::f16:
    case dtype::e5m2: return -14;
    case dtype::e5m2fnuz: return -15;
    case dtype::e4m3fn: return -6;
    case dtype::e4m3fnuz: return -7;
    default: return -126;
  }
}

/// Hopper and Blackwell, mma.sync and wgmma of f16 and bf16: 16 products and c in one group, 25 bits, all truncated.
constexpr matrix_atom hopper_atom(dtype type) {
  matrix_atom a;
  a.sum = atom_sum::aligned;
  a.least_exponent = least_exponent_of(type);
  a.fraction_bits = 25;
  return a;
}

/// Ampere and Ada, mma.sync m16n8k16 of f16 and bf16: 24 bits, two groups of 8.
constexpr matrix_atom ampere_atom(dtype type) {
  matrix_atom a = hopper_atom(type);
  a.fraction_bits = 24;
  a.group = a.run = 8;
  return a;
}

/// Turing, mma.sync m16n8k8 of f16: 24 bits, one group of 8.
constexpr matrix_atom turing_atom(dtype type) {
  matrix_atom a = ampere_atom(type);
  a.products = 8;
  return a;
}

/// FP8 of Hopper's wgmma m64nNk32: 32 products in one group, 13 bits, results of 13 bits.
constexpr matrix_atom hopper_fp8_atom(dtype type) {
  matrix_atom a = hopper_atom(type);
  a.products = a.group = a.run = 32;
  a.fraction_bits = a.result_bits = 13;
  return a;
}

/// FP8 of Hopper's mma.sync m16n8k32, e4m3 and e5m2: elements are widened to f16 and multiplied by two f16 atoms,
/// of k = 0, 1, 4, 5, .. and of the others, from 0; then c is added.
constexpr matrix_atom hopper_fp8_mma_atom(dtype /*type*/) {
  matrix_atom a = hopper_atom(dtype::f16);
  a.products = 32;
  a.run = 2;
  a.adds_c_last = 1;
  return a;
}

/// FP8 of Ada's mma.sync m16n8k32: as Hopper's wgmma, in two groups of 16.
constexpr matrix_atom ada_fp8_atom(dtype type) {
  matrix_atom a = hopper_fp8_atom(type);
  a.group = a.run = 16;
  return a;
}

/// CDNA3, MFMA 16x16x16 of f16 and bf16: two groups of 8, products cut at 24 bits, joined with c toward -infinity,
/// rounded to nearest even. What zero products do to the exponent is not measured.
constexpr matrix_atom cdna3_atom(dtype type) {
  matrix_atom a = ampere_atom(type);
  a.joins_c_later = 1;
  a.sum_bits = 31;
  a.result = cut::nearest_even;
  return a;
}

/// CDNA3, MFMA 16x16x32 of FP8: two groups of 16, even and odd products apart.
constexpr matrix_atom cdna3_fp8_atom(dtype type) {
  matrix_atom a = cdna3_atom(type);
  a.products = 32;
  a.group = a.run = 16;
  a.parts = 2;
  a.c_reach = 25;
  return a;
}

/// CDNA2, MFMA 16x16x16 of f16, and of bf16 with `_1k`: groups of 4 by pairwise sums; subnormals are flushed.
constexpr matrix_atom cdna2_atom(dtype type) {
  matrix_atom a;
  a.sum = atom_sum::pairwise;
  a.group = a.run = 4;
  a.least_exponent = least_exponent_of(type);
  a.result = cut::nearest_even;
  a.flushes_inputs = a.flushes_results = 1;
  return a;
}

/// CDNA1, MFMA of f16: as CDNA2's, without the flush.
constexpr matrix_atom cdna1_atom(dtype type) {
  matrix_atom a = cdna2_atom(type);
  a.flushes_inputs = a.flushes_results = 0;
  return a;
}

/// One fused multiply-add after the other, as IEEE 754 has them: MFMA of f32, and cores without a matrix unit.
constexpr matrix_atom ieee_atom(dtype type) {
  matrix_atom a;
  a.sum = atom_sum::fused;
  a.least_exponent = least_exponent_of(type);
  a.result = cut::nearest_even;
  return a;
}

/// RDNA3's WMMA. No measurement is published. Taken as a chain of V_DOT2_F32_F16 (RDNA3 ISA): pairs of products, joined
/// with c at 31 bits and rounded once, to nearest even. An assumption, which `assay probe` on such a GPU confirms or
/// corrects.
constexpr matrix_atom rdna3_atom(dtype type) {
  matrix_atom a = hopper_atom(type);
  a.group = a.run = 2;
  a.fraction_bits = 31;
  a.exponent = product_exponent::of_product;
  a.result = cut::nearest_even;
  return a;
}

/// The atoms of a unit, by the type of A and B. A unit without FP8 has an atom of f16 for it, to which it is widened.
struct named_atoms {
  const char* name;
  matrix_atom (*of)(dtype type);
  matrix_atom (*of_fp8)(dtype type);                  ///< null: FP8 is widened to f16
  matrix_atom (*of_group_fp8)(dtype type) = nullptr;  ///< by warpgroups; null: by two of f16
};
inline constexpr named_atoms known_atoms[] = {
    {"hopper", hopper_atom, nullptr, hopper_fp8_atom},
    {"ampere", ampere_atom, nullptr},
    {"cdna3", cdna3_atom, cdna3_fp8_atom},
    {"cdna2", cdna2_atom, nullptr},
    {"cdna1", cdna1_atom, nullptr},
    {"rdna3", rdna3_atom, nullptr},
    {"ieee", ieee_atom, nullptr},
};

/// What multiplies FP8 by warpgroups, as it is.
constexpr matrix_atom group_fp8_atom(const named_atoms& of, dtype type) {
  return of.of_group_fp8 != nullptr ? of.of_group_fp8(type) : of.of(dtype::f16);
}

/// Null where the name is not known.
inline const named_atoms* find_atoms(const char* name) {
  for (const named_atoms& n : known_atoms)
    if (std::strcmp(n.name, name) == 0) return &n;
  return nullptr;
}

}  // namespace assay
