/// The logits of a tile's keys for one row, and what NaN and infinities make of them.
#pragma once

#include <cstdint>

#include "oracle/logits.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// Of the logits of all keys that a row sees in a tile.
enum class logits_kind : std::uint8_t {
  known,  ///< each has a finite bound, or is void
  open,   ///< some have none: they may be +infinity, or NaN
  nan,    ///< one is NaN in every order of operations
};

/// Evaluates the logits of keys [begin, end) into scratch.w and scratch.e, and marks the void ones: those that are
/// -infinity, by their bias, their data or f32's overflow. `bias` points at the bias of key `begin`, or is null.
logits_kind tile_logits(const decoded_tile& tile, const contract& declared, const logit_scale& scale, bool is_integer,
                        const double* query, std::int64_t begin, std::int64_t end, const double* bias,
                        tile_scratch& scratch);

}  // namespace assay::oracle
