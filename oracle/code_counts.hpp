/// Counts that enclose() makes.
#pragma once

#include <cstdint>

namespace assay::oracle {

/// Counts of P codes: how many were rounded, how many of these are ambiguous (p straddles the middle of two codes), and
/// how many are certainly 0. No code saturates: p is at most 2^p_shift, which p_type holds.
struct code_counts {
  std::int64_t codes = 0;
  std::int64_t ambiguous = 0;
  std::int64_t zero = 0;
};

}  // namespace assay::oracle
