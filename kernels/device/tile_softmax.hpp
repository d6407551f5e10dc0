/// Online softmax over a wave's tile of 16 rows, in registers. The scores stay in the accumulators of the matrix atoms.
/// Lanes that share a row join their maxima and sums by shuffles.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/math.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/softmax.hpp"

namespace assay::device {

/// How a tile's dot products become base-2 logits. soft_cap 0: y = a * base2_scale, folded into the softmax. Otherwise
/// y = soft_cap * tanh(a * scale / soft_cap) * log2(e).
struct logit_rule {
  float scale;
  float base2_scale;  ///< above 0: the maximum over a is then the maximum over y
  float soft_cap;
};

/// Rounded additions that a probability passes through on its way into l: those of its atom, two levels over the atoms
/// of the tile, one into l. An older term passes through one per tile, the fused rescale.
inline constexpr int tile_sum_roundings = row_sum_roundings + 2 + 1;

/// State of the rows in which a lane has elements. l sums exp2(y - base) with base = m - shift.
template <int Shift>
struct tile_softmax {
  static constexpr int atoms = 4;
  float m[max_row_slots];
  float l[max_row_slots];
  std::int32_t visible_keys[max_row_slots];  ///< keys from there on are hidden from the row

  __device__ float base(int slot) const { return m[slot] == no_logit ? 0.0F : m[slot] - static_cast<float>(Shift); }

  /// Takes in the tile of keys from `first_key` on; its dot products become probabilities, 0 for hidden keys.
  /// alpha[slot] is what sums of the previous state are to be scaled by: exactly 1 when the maximum did not move.
  __device__ void update(accumulator<float> (&s)[atoms], std::int32_t first_key, const logit_rule& rule,
                         float (&alpha)[max_row_slots]) {
    const bool folds = rule.soft_cap == 0.0F;
    float top[max_row_slots];
    ASSAY_UNROLL
    for (float& value : top) value = no_logit;
    ASSAY_UNROLL
    for (int n = 0; n < atoms; ++n) ASSAY_UNROLL
    for (int i = 0; i < s[n].count(); ++i) {
      float& value = s[n].value[i];
      const int slot = row_slot(i);
      const std::int32_t key = first_key + n * atom_columns + c_column(i);
      if (!folds) value = rule.soft_cap * tanh(value * rule.scale / rule.soft_cap) * log2_e;
      value = key < visible_keys[slot] ? value : no_logit;  // whatever a hidden key made of it, NaN included
      top[slot] = fmaxf(top[slot], value);
    }
    reduce_rows(top, larger{});
    ASSAY_UNROLL
    for (int slot = 0; slot < row_slots(); ++slot) {
      const float logit = folds && top[slot] != no_logit ? top[slot] * rule.base2_scale : top[slot];
      const float next = fmaxf(m[slot], logit);
      alpha[slot] = next == m[slot] ? 1.0F : exp2(m[slot] - next);
      m[slot] = next;
    }

    float sums[atoms][max_row_slots] = {};
    ASSAY_UNROLL
    for (int n = 0; n < atoms; ++n) ASSAY_UNROLL
    for (int i = 0; i < s[n].count(); ++i) {
      float& value = s[n].value[i];
      const int slot = row_slot(i);
      const float argument = folds ? fmaf(value, rule.base2_scale, -base(slot)) : value - base(slot);
      value = value == no_logit ? 0.0F : exp2(argument);
      sums[n][slot] += value;
    }
    float sum_of_tile[max_row_slots];
    ASSAY_UNROLL
    for (int slot = 0; slot < max_row_slots; ++slot)
      sum_of_tile[slot] = (sums[0][slot] + sums[1][slot]) + (sums[2][slot] + sums[3][slot]);
    reduce_rows(sum_of_tile, sum{});
    ASSAY_UNROLL
    for (int slot = 0; slot < row_slots(); ++slot) l[slot] = fmaf(l[slot], alpha[slot], sum_of_tile[slot]);
  }

  /// l == 0 means that no key was visible. Compared so that a NaN stays one.
  __device__ float lse(int slot) const { return l[slot] == 0.0F ? no_logit : natural_lse(base(slot), l[slot]); }
};

}  // namespace assay::device
