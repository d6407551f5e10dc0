/// Division of numbers below 2^31 by one that the host knows: a product in place of some twenty instructions.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace assay::device {

/// Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994. With 2^s the least power of two
/// not below d, m = ceil(2^(31 + s) / d) is below 2^32, and m d = 2^(31 + s) + e with 0 <= e < d <= 2^s. Then
/// n m / 2^(31 + s) = n / d + n e / (d 2^(31 + s)), and as n < 2^31 the last term is below 1 / d: too small to reach
/// the next integer. Of 2 n m, which is below 2^64, the upper word is enough.
struct divisor {
  std::uint32_t multiplier = 0;
  std::int32_t shift = 0;

  divisor() = default;
  /// 1 <= d < 2^31.
  explicit divisor(std::int32_t d) {
    int s = 0;
    while ((std::int64_t{1} << s) < d) ++s;
    shift = s;
    const std::uint64_t power = std::uint64_t{1} << (31 + s), by = static_cast<std::uint32_t>(d);
    multiplier = static_cast<std::uint32_t>((power + by - 1) / by);
  }

  /// n / d of 0 <= n < 2^31.
  __device__ __host__ std::int32_t quotient(std::int32_t n) const {
    const std::uint64_t twice = static_cast<std::uint32_t>(n) * 2U;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(twice * multiplier >> 32) >> shift);
  }
};

}  // namespace assay::device
