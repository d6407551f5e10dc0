/// Element types as numbers: bits to exact values, and values to the numbers that a type can hold.
/// This is the oracle's own implementation; it shares no code with kernels/device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/tensor.hpp"

namespace assay::oracle {

/// Exact value of a bit pattern; NaN for the type's NaN codes. Throws std::invalid_argument for dtype::none.
double decode(dtype type, std::uint32_t bits);

/// Exact value of the element at `offset` (in elements) of a tensor.
double load(const tensor& t, std::int64_t offset);

/// Bits of the element at `offset`, of a type of at most 4 bytes.
inline std::uint32_t load_bits(const tensor& t, std::int64_t offset) {
  const std::int64_t bytes = size_bytes(t.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(t.data) + offset * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

/// Decodes `count` elements that lie next to each other from `offset` on. Same values as load(), faster.
void load_contiguous(const tensor& t, std::int64_t offset, std::int64_t count, double* values);

/// Bits of `count` elements that lie next to each other from `offset` on. Same as load_bits(), faster.
void load_contiguous_bits(const tensor& t, std::int64_t offset, std::int64_t count, std::uint32_t* bits);

/// The nearest number of the type, ties to even; beyond the largest IEEE types go to infinity, FP8 types saturate.
/// Integers (i8, i32) are rounded to whole numbers and saturate. NaN stays NaN, infinity stays infinity in IEEE types.
double round_to_nearest(dtype type, double value);

/// The largest number of the type not above `value`, the smallest not below it.
double round_down(dtype type, double value);
double round_up(dtype type, double value);

/// Neighbours of a number that the type holds. The neighbour of the largest is infinity in IEEE types.
double next_up(dtype type, double value);
double next_down(dtype type, double value);

/// Distance of the type's numbers in the binade of |value|; the smallest distance for 0; infinity beyond the type.
double ulp(dtype type, double value);

/// The type's smallest normal number; 0 of integers.
double least_normal(dtype type);

/// The type's largest finite number.
double largest(dtype type);

}  // namespace assay::oracle
