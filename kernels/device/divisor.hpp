/// Division of whole numbers by one that the host knows: a product in place of some twenty instructions, or of more
/// than a hundred for 64 bits.
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

/// The same for numbers below 2^63, with 32 bits more in each place: m = ceil(2^(63 + s) / d) is below 2^64.
struct wide_divisor {
  std::uint64_t multiplier = 0;
  std::int32_t shift = 0;

  wide_divisor() = default;
  /// 1 <= d < 2^31.
  explicit wide_divisor(std::int32_t d) {
    const auto by = static_cast<std::uint64_t>(d);
    std::uint64_t rest = (std::uint64_t{1} << 63) % by;
    multiplier = (std::uint64_t{1} << 63) / by;
    for (; std::uint64_t{1} << shift < by; ++shift) {  // a bit more of the quotient
      rest *= 2;
      multiplier = 2 * multiplier + (rest >= by ? 1 : 0);
      if (rest >= by) rest -= by;
    }
    if (rest > 0) ++multiplier;
  }

  /// n / d of 0 <= n < 2^63.
  __device__ std::int64_t quotient(std::int64_t n) const {
    return static_cast<std::int64_t>(__umul64hi(static_cast<std::uint64_t>(n) * 2, multiplier) >> shift);
  }
};

}  // namespace assay::device
