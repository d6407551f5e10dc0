/// CUDA's functions of words that hold two numbers of 16 bits or four of 8: __vsub4 and its kin, and dot products of
/// such words. Numbers are signed where the name has an s, and wrap where it does not say that they saturate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace assay::cpu {

/// What `function` makes of each number of both words, numbers being of type T.
template <class T, class Function>
constexpr unsigned int for_each_number(unsigned int a, unsigned int b, Function function) {
  constexpr unsigned int bits = 8 * sizeof(T), ones = (1U << bits) - 1;
  unsigned int result = 0;
  for (unsigned int at = 0; at < 32; at += bits) {
    const auto x = static_cast<T>(a >> at), y = static_cast<T>(b >> at);
    result |= (static_cast<unsigned int>(function(int{x}, int{y})) & ones) << at;
  }
  return result;
}

template <class T>
constexpr int saturated_number(int x) {
  return std::clamp(x, int{std::numeric_limits<T>::min()}, int{std::numeric_limits<T>::max()});
}

}  // namespace assay::cpu

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types, names and expressions of a and b
#define ASSAY_SIMD(name, type16, type8, expression)                                                 \
  constexpr unsigned int __v##name##2(unsigned int x, unsigned int y) {                             \
    using type = type16;                                                                            \
    return assay::cpu::for_each_number<type>(x, y, [](int a, int b) -> int { return expression; }); \
  }                                                                                                 \
  constexpr unsigned int __v##name##4(unsigned int x, unsigned int y) {                             \
    using type = type8;                                                                             \
    return assay::cpu::for_each_number<type>(x, y, [](int a, int b) -> int { return expression; }); \
  }
#define ASSAY_SIMD_SIGNED(name, expression) ASSAY_SIMD(name, std::int16_t, std::int8_t, expression)
#define ASSAY_SIMD_UNSIGNED(name, expression) ASSAY_SIMD(name, std::uint16_t, std::uint8_t, expression)
ASSAY_SIMD_UNSIGNED(add, a + b)
ASSAY_SIMD_UNSIGNED(sub, a - b)
ASSAY_SIMD_SIGNED(addss, assay::cpu::saturated_number<type>(a + b))
ASSAY_SIMD_SIGNED(subss, assay::cpu::saturated_number<type>(a - b))
ASSAY_SIMD_UNSIGNED(addus, assay::cpu::saturated_number<type>(a + b))
ASSAY_SIMD_UNSIGNED(subus, assay::cpu::saturated_number<type>(a - b))
ASSAY_SIMD_SIGNED(maxs, std::max(a, b))
ASSAY_SIMD_SIGNED(mins, std::min(a, b))
ASSAY_SIMD_UNSIGNED(maxu, std::max(a, b))
ASSAY_SIMD_UNSIGNED(minu, std::min(a, b))
ASSAY_SIMD_UNSIGNED(absdiffu, std::max(a, b) - std::min(a, b))
// Comparisons: all bits of a number are 1 where it holds.
ASSAY_SIMD_UNSIGNED(cmpeq, a == b ? -1 : 0)
ASSAY_SIMD_UNSIGNED(cmpne, a != b ? -1 : 0)
ASSAY_SIMD_SIGNED(cmpgts, a > b ? -1 : 0)
ASSAY_SIMD_SIGNED(cmpges, a >= b ? -1 : 0)
ASSAY_SIMD_SIGNED(cmplts, a < b ? -1 : 0)
ASSAY_SIMD_SIGNED(cmples, a <= b ? -1 : 0)
ASSAY_SIMD_UNSIGNED(cmpgtu, a > b ? -1 : 0)
ASSAY_SIMD_UNSIGNED(cmpgeu, a >= b ? -1 : 0)
ASSAY_SIMD_UNSIGNED(cmpltu, a < b ? -1 : 0)
ASSAY_SIMD_UNSIGNED(cmpleu, a <= b ? -1 : 0)
#undef ASSAY_SIMD_UNSIGNED
#undef ASSAY_SIMD_SIGNED
#undef ASSAY_SIMD
// NOLINTEND(bugprone-macro-parentheses)

/// The sum of four products of 8-bit numbers, and of `sum`, which wraps.
constexpr unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) {
  for (int at = 0; at < 32; at += 8) sum += (a >> at & 0xFFU) * (b >> at & 0xFFU);
  return sum;
}
constexpr int __dp4a(int a, int b, int sum) {
  auto wrapping = static_cast<unsigned int>(sum);
  for (int at = 0; at < 32; at += 8)
    wrapping += static_cast<unsigned int>(int{static_cast<std::int8_t>(a >> at)} * static_cast<std::int8_t>(b >> at));
  return static_cast<int>(wrapping);
}
