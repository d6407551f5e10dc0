/// What enclose() counts on the way.
#pragma once

#include <cstdint>

namespace assay::oracle {

/// Counts of P codes: how many were rounded, how many of them the contract leaves open (p straddles the middle of two
/// codes), and how many are 0 for certain. None ever saturates: p is at most 2^p_shift, which p_type holds.
struct code_counts {
  std::int64_t codes = 0;
  std::int64_t ambiguous = 0;
  std::int64_t zero = 0;
};

}  // namespace assay::oracle
