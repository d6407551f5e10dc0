/// Codes of an 8-bit cache, eight at a time: made from numbers, and moved from one descale to another.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/append_kv/append_kv_rows.hpp"
#include "kernels/device/convert.hpp"

namespace assay {

/// The largest finite value of an 8-bit type.
template <class T>
inline constexpr float largest_value = 0.0F;
template <>
inline constexpr float largest_value<device::e4m3fn> = 448.0F;
template <>
inline constexpr float largest_value<device::e4m3fnuz> = 240.0F;

template <class T>
inline constexpr bool is_code = sizeof(T) == 1;

/// Eight codes from a function of their number.
template <class T, class F>
__device__ inline device::packed<1> pack_codes(F code) {
  unsigned int words[2] = {};
  ASSAY_UNROLL
  for (int i = 0; i < device::vector_elements; ++i) {
    const T made = code(i);
    words[i / 4] |= static_cast<unsigned int>(made.bits) << (8 * (i % 4));
  }
  device::packed<1> to;
  to.bits.x = words[0], to.bits.y = words[1];
  return to;
}

/// The division by a scale of which nothing is known: a reciprocal would round once more, and overflow for small
/// scales.
struct division_by {
  float scale;
  __device__ float quotient(float x) const { return x / scale; }
};

/// The codes of by.quotient(x): of x divided by a scale, and rounded once.
template <class T, class Division>
__device__ inline device::packed<1> quantise8(const eight_floats& from, const Division& by) {
  unsigned int pairs[4] = {};
  ASSAY_UNROLL
  for (int i = 0; i < 4; ++i)
    pairs[i] = device::from_floats<T>(by.quotient(from.x[2 * i]), by.quotient(from.x[2 * i + 1]));
  device::packed<1> to;
  to.bits.x = pairs[0] | pairs[1] << 16, to.bits.y = pairs[2] | pairs[3] << 16;
  return to;
}

/// The codes of the same values times `ratio`. NaN keeps its bits: arithmetic would lose its sign on some platforms.
template <class T>
__device__ inline device::packed<1> rescale8(const device::packed<1>& from, float ratio) {
  return pack_codes<T>([&](int i) {
    const T code{static_cast<std::uint8_t>(device::element(from, i))};
    const float value = device::to_float(code);
    return value == value ? device::from_float<T>(value * ratio) : code;
  });
}

/// Eight elements of either kind of 2-byte type.
template <class T>
__device__ inline device::packed<2> round8(const eight_floats& from) {
  unsigned int words[4] = {};
  ASSAY_UNROLL
  for (int i = 0; i < device::vector_elements; ++i)
    words[i / 2] |= static_cast<unsigned int>(device::from_float<T>(from.x[i]).bits) << (16 * (i % 2));
  return {make_uint4(words[0], words[1], words[2], words[3])};
}

}  // namespace assay
