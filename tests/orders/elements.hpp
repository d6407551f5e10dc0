/// Tensors of a call and their elements, as the kernels of library.cpp read and write them. Shares no code with the
/// oracle.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/library.h"

namespace assay::orders {

class tensors_by_name {
 public:
  tensors_by_name(const assay_tensor* tensors, std::int32_t count) : tensors_(tensors), count_(count) {}
  /// Null where there is none.
  const DLTensor* operator[](std::string_view name) const {
    for (std::int32_t i = 0; i < count_; ++i)
      if (name == tensors_[i].name) return &tensors_[i].view;
    return nullptr;
  }

 private:
  const assay_tensor* tensors_;
  std::int32_t count_;
};

template <class T>
T& at(const DLTensor* t, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
  const std::int64_t index[] = {i, j, k, l};
  std::int64_t offset = 0;
  for (std::int32_t d = 0; d < t->ndim; ++d) offset += index[d] * t->strides[d];
  return reinterpret_cast<T*>(static_cast<char*>(t->data) + t->byte_offset)[offset];
}

inline std::int64_t integer(const DLTensor* t, std::int64_t i, std::int64_t j = 0) {
  return at<const std::int32_t>(t, i, j, 0, 0);
}
inline float real(const DLTensor* t, std::int64_t i, std::int64_t j = 0) {
  return at<const float>(t, i, j, 0, 0);
}

/// A sign, exponent and mantissa of 8 bits.
struct fp8_format {
  int mantissa_bits, bias;
  float largest;
  bool is_fnuz;
};
inline fp8_format fp8_of(dtype type) {
  switch (type) {
    case dtype::e4m3fn: return {3, 7, 448, false};
    case dtype::e4m3fnuz: return {3, 8, 240, true};
    case dtype::e5m2: return {2, 15, 57344, false};
    default: return {2, 16, 57344, true};
  }
}
/// Infinities of e5m2 become NaN: live_infinity is declared not to be taken.
inline float of_code(std::uint8_t code, dtype type) {
  const fp8_format f = fp8_of(type);
  const int hidden = 1 << f.mantissa_bits, exponent = (code & 0x7F) >> f.mantissa_bits, mantissa = code & (hidden - 1);
  const int significand = exponent == 0 ? mantissa : mantissa + hidden;
  const float size = std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - f.bias - f.mantissa_bits);
  if (f.is_fnuz ? code == 0x80 : size > f.largest) return std::nanf("");
  return code >= 0x80 ? -size : size;
}
/// The nearest number, ties to even, saturated.
inline float to_fp8(float x, dtype type) {
  const fp8_format f = fp8_of(type);
  const float size = std::fabs(x);
  if (!(size < f.largest)) return std::copysign(f.largest, x);
  const int least = 1 - f.bias - f.mantissa_bits;  // the exponent of the smallest subnormal
  const int exponent = size == 0 ? least : std::max(std::ilogb(size) - f.mantissa_bits, least);
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(size, -exponent)), exponent), x);
}
inline float rounded(dtype type, float x) {
  if (type == dtype::f16) return static_cast<_Float16>(x);
  if (type == dtype::bf16 && x == x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
  }
  if (size_bytes(type) == 1) return to_fp8(x, type);
  return x;
}

inline float element(const DLTensor* t, dtype type, std::int64_t i, std::int64_t j, std::int64_t k,
                     std::int64_t l = 0) {
  if (type == dtype::f16) return at<const _Float16>(t, i, j, k, l);
  if (type == dtype::bf16) return std::bit_cast<float>(std::uint32_t{at<const std::uint16_t>(t, i, j, k, l)} << 16);
  if (type == dtype::f32) return at<const float>(t, i, j, k, l);
  return of_code(at<const std::uint8_t>(t, i, j, k, l), type);
}
inline void store(const DLTensor* t, dtype type, std::int64_t i, std::int64_t j, std::int64_t k, float x) {
  if (type == dtype::f16)
    at<_Float16>(t, i, j, k, 0) = static_cast<_Float16>(x);
  else if (type == dtype::bf16)
    at<std::uint16_t>(t, i, j, k, 0) = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded(type, x)) >> 16);
  else
    at<float>(t, i, j, k, 0) = x;
}

}  // namespace assay::orders
