/// MFMA of CDNA with 16 blocks: D = A B + C of 4 x 4 matrices each, by a wave of 64 lanes. Lane l holds row l % 4 of A
/// and column l % 4 of B of block l / 4, all k of them, and column l % 4 of C: element i is of row i.
///
/// Broadcasts, as AMD's CDNA3 ISA describes them: with cbsz, blocks in groups of 2^cbsz all take A of the group's block
/// `abid`; blgp chooses from which lanes B comes. Arithmetic as in amdgcn_mfma.h.
#pragma once

#include "hip/amdgcn_mfma.h"

namespace assay::cpu {

struct block_mfma_record {
  const void* a;
  const void* b;
  void* c;
  int cbsz, abid, blgp;
};

/// The lane from which B of a lane comes.
constexpr int b_lane(int lane, int blgp) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return 32 + lane % 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return 16 * (blgp - 4) + lane % 16;
    default: return lane;
  }
}

template <int K, class Element>
ASSAY_NOT_CHECKED void multiply_blocks(wave_records& records) {
  constexpr int n = 4;
  const auto of = [&](int lane) { return static_cast<const block_mfma_record*>(records.lane[lane]); };
  for (int lane = 0; lane < max_wave_size; ++lane) {
    const block_mfma_record* const own = of(lane);
    if (own == nullptr) continue;
    const int group = 1 << own->cbsz, a_block = lane / n / group * group + own->abid % group;
    const block_mfma_record* const column = of(b_lane(lane, own->blgp));
    for (int row = 0; row < n; ++row) {
      const block_mfma_record* const from = of(a_block * n + row);  // lanes that are not there have zeros
      double sum = static_cast<float*>(own->c)[row];
      for (int k = 0; k < K && from != nullptr && column != nullptr; ++k)
        sum += static_cast<double>(static_cast<const Element*>(from->a)[k]) *
               static_cast<double>(static_cast<const Element*>(column->b)[k]);
      static_cast<float*>(own->c)[row] = static_cast<float>(sum);
    }
  }
}

template <int K, class Element, class A, class B>
mfma_f32x4 block_mfma(const char* name, std::source_location where, const A& a, const B& b, mfma_f32x4 c, int cbsz,
                      int abid, int blgp) {
  static_assert(sizeof a == K * sizeof(Element) && sizeof b == sizeof a);
  if (wave_size() != max_wave_size) fail_builtin(name, " needs waves of 64 lanes");
  if (cbsz < 0 || cbsz > 4 || abid < 0 || abid >= 1 << cbsz || blgp < 0 || blgp > 7)
    fail_builtin(name, ": cbsz, abid or blgp is out of range");
  block_mfma_record own{&a, &b, &c, cbsz, abid, blgp};
  wave_rendezvous(name, where, &own, &multiply_blocks<K, Element>);
  return c;
}

}  // namespace assay::cpu

// Operands of any vector type with the elements' bits.
#define ASSAY_BLOCK_MFMA(name, k, ...)                                                                               \
  template <class A, class B>                                                                                        \
  assay::cpu::mfma_f32x4 __builtin_amdgcn_mfma_##name(const A& a, const B& b, assay::cpu::mfma_f32x4 c, int cbsz,    \
                                                      int abid, int blgp, ASSAY_HERE) {                              \
    return assay::cpu::block_mfma<k, __VA_ARGS__>("__builtin_amdgcn_mfma_" #name, where, a, b, c, cbsz, abid, blgp); \
  }
ASSAY_BLOCK_MFMA(f32_4x4x4f16, 4, assay::cpu::coded<assay::cpu::f16_format>)
ASSAY_BLOCK_MFMA(f32_4x4x4bf16_1k, 4, assay::cpu::coded<assay::cpu::bf16_format>)
ASSAY_BLOCK_MFMA(f32_4x4x1f32, 1, float)
#undef ASSAY_BLOCK_MFMA
