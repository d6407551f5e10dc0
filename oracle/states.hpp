/// The states of a split, one row's, joined as the contract says: m, l and O of all.
#pragma once

#include <span>

#include "kernels/contract.hpp"
#include "oracle/logits.hpp"
#include "oracle/replay.hpp"

namespace assay::oracle {

/// Joins all states into the first one. The others stay as they are.
void join_states(std::span<row_state> states, const contract& declared, const logit_scale& scale);

}  // namespace assay::oracle
