/// Eight elements at a time: the unit in which tiles travel from global memory to LDS.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace assay::device {

inline constexpr int vector_elements = 8;

/// What one load or store of so many bytes moves.
template <int Bytes>
struct word_of;
template <>
struct word_of<2> {
  using type = std::uint16_t;
};
template <>
struct word_of<4> {
  using type = std::uint32_t;
};
template <>
struct word_of<8> {
  using type = uint2;
};
template <>
struct word_of<16> {
  using type = uint4;
};

/// Bits of eight 2-byte or 1-byte elements, held in registers.
template <int ElementBytes>
struct packed {
  typename word_of<vector_elements * ElementBytes>::type bits;
};

/// `Count` elements side by side, by one load; `from` is aligned to their size.
template <int Count, class T>
__device__ inline void load_adjacent(T* to, const T* from) {
  using word = typename word_of<static_cast<int>(sizeof(T)) * Count>::type;
  const word bits = *reinterpret_cast<const word*>(from);
  __builtin_memcpy(to, &bits, sizeof bits);
}

/// The same way back.
template <int Count, class T>
__device__ inline void store_adjacent(T* to, const T* from) {
  using word = typename word_of<static_cast<int>(sizeof(T)) * Count>::type;
  word bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  *reinterpret_cast<word*>(to) = bits;
}

/// Eight consecutive elements; `from` is aligned to their size (16 or 8 bytes).
template <class T>
__device__ inline packed<sizeof(T)> load8(const T* from) {
  return {reinterpret_cast<const packed<sizeof(T)>*>(from)->bits};
}

/// The same way back: `to` is aligned to eight elements.
template <class T>
__device__ inline void store8(T* to, const packed<sizeof(T)>& values) {
  reinterpret_cast<packed<sizeof(T)>*>(to)->bits = values.bits;
}

template <class T>
__device__ inline packed<sizeof(T)> zero8() {
  return packed<sizeof(T)>{};
}

/// Element i of eight, as the bits of an unsigned integer.
__device__ inline unsigned int element(const packed<2>& v, int i) {
  const unsigned int words[4] = {v.bits.x, v.bits.y, v.bits.z, v.bits.w};
  return (words[i / 2] >> (16 * (i % 2))) & 0xFFFFU;
}
__device__ inline unsigned int element(const packed<1>& v, int i) {
  const unsigned int words[2] = {v.bits.x, v.bits.y};
  return (words[i / 4] >> (8 * (i % 4))) & 0xFFU;
}

template <class T>
__device__ inline T min_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ inline T max_of(T a, T b) {
  return a < b ? b : a;
}

}  // namespace assay::device
