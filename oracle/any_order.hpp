/// What any order of a row's operations may make of it, where the contract does not state the order: the definition's
/// values, widened.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/contract.hpp"
#include "oracle/attention.hpp"
#include "oracle/logits.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// What the widening rests on, gathered tile by tile.
struct row_summary {
  std::int64_t keys = 0;             ///< visible ones
  std::int64_t tiles = 0;            ///< with a visible key
  double logit_error = 0;            ///< the largest error of a base-2 logit
  double logit = 0;                  ///< the largest |base-2 logit|
  double value = 0;                  ///< the largest |v| times its descale
  double value_descale[2] = {1, 1};  ///< the least and the largest
};

/// Takes in the keys [begin, end) of a tile, whose logits stand in `scratch`.
void summarise(const decoded_tile& tile, const logit_scale& scale, const tile_scratch& scratch, std::int64_t begin,
               std::int64_t end, row_summary& row);

/// Widens the definition's row, of one split, by all that kernels may do which round as the contract says, with any
/// reference for the exponents that is a maximum of keys, with or without the sink. Everything where that is too much.
void widen_for_any_order(const row_summary& row, const contract& declared, double sink, double v_scale,
                         exact_row& exact);

}  // namespace assay::oracle
