/// The states of a split, one row's, joined as the contract says: m, l and O of all.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/contract.hpp"
#include "oracle/logits.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// States of a split: 1 where the order is open, or the contract says 0.
std::int32_t num_states(const contract& declared);

/// Joins all states into the first one. The others stay as they are.
void join_states(std::span<row_state> states, const contract& declared, const logit_scale& scale);

}  // namespace assay::oracle
