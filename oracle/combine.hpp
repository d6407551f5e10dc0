/// The combine step of the contract: partial results of all splits of one row and head become its result.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/contract.hpp"
#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// A split's LSE and output row.
struct partial {
  interval lse;
  bool is_nan = false;  ///< its LSE is NaN
  std::span<const interval> o;
  std::span<const std::uint8_t> rules;  ///< element_rules of o; empty: all are enclosed
};

struct combined_lse {
  interval bounds;
  element_rule rule = element_rule::enclosed;
};

/// Writes the row's output and its element_rules, and returns its LSE.
combined_lse combine_splits(std::span<const partial> splits, const contract& declared, std::span<interval> out,
                            std::span<std::uint8_t> rules);

}  // namespace assay::oracle
