/// Where an output element comes from, for people who debug a defect. In plain binary64: verdicts do not depend on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// The contribution of a key to an output element.
struct key_share {
  std::int64_t key = 0;  ///< within the sequence
  std::int64_t page = 0;
  std::int64_t slot = 0;
  double logit = 0;         ///< x, natural
  double probability = 0;   ///< exp(x) / Z
  double value = 0;         ///< v, before its descales
  double contribution = 0;  ///< probability * v_scale * v_descale * v: these sum up to the element
  double k_descale = 1;     ///< of the page; 1 with per-tensor descales
  double v_descale = 1;
};

/// A tile with keys visible to the row, and the row's state after it.
struct tile_story {
  std::int64_t tile = 0;
  std::int64_t split = 0;
  std::int64_t first_key = 0;  ///< visible keys [first_key, end_key)
  std::int64_t end_key = 0;
  double maximum = 0;           ///< running m of its state of the split: base-2 logit
  double sum = 0;               ///< running l of that state
  double output = 0;            ///< the state's O * v_scale / l so far
  double contribution = 0;      ///< of the tile to the element
  std::vector<key_share> keys;  ///< the largest contributions, by magnitude, first
};

struct element_story {
  std::int64_t sequence = 0;
  std::int64_t row_in_sequence = 0;
  std::int64_t head_kv = 0;
  std::int64_t visible_begin = 0;
  std::int64_t visible_end = 0;
  double sink = 0;  ///< -inf without a sink
  double value = 0;
  double lse = 0;
  std::vector<tile_story> tiles;
};

/// The story of o[row, head, column], in the contract's tiles and splits, with at most `top` keys per tile.
/// Throws std::invalid_argument for an index outside of the output.
element_story explain_element(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                              std::int64_t row, std::int64_t head, std::int64_t column, int top = 3);

}  // namespace assay::oracle
