/// HIP's built-in vector types: same names, layout and alignment as on the GPUs.
#pragma once

#include <type_traits>

// Vectors of two and four are vectors to the compiler, too: it loads and stores them whole, and checks their alignment
// in checked kernels, which it does not for structs. Their elements have no address of their own (&v.x). Vectors of
// three are as large as three elements, which the compiler's are not.
// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type
#define ASSAY_VECTOR_TYPES(name, type)                               \
  struct name##1 {                                                   \
    type x;                                                          \
  };                                                                 \
  struct name##3 {                                                   \
    type x, y, z;                                                    \
  };                                                                 \
  using name##2 = type __attribute__((ext_vector_type(2)));          \
  using name##4 = type __attribute__((ext_vector_type(4)));          \
  constexpr name##1 make_##name##1(type x) {                         \
    return {x};                                                      \
  }                                                                  \
  constexpr name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                   \
  }                                                                  \
  constexpr name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                                \
  }                                                                  \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                             \
  }

ASSAY_VECTOR_TYPES(char, signed char)
ASSAY_VECTOR_TYPES(uchar, unsigned char)
ASSAY_VECTOR_TYPES(short, short)
ASSAY_VECTOR_TYPES(ushort, unsigned short)
ASSAY_VECTOR_TYPES(int, int)
ASSAY_VECTOR_TYPES(uint, unsigned int)
ASSAY_VECTOR_TYPES(long, long)
ASSAY_VECTOR_TYPES(ulong, unsigned long)
ASSAY_VECTOR_TYPES(longlong, long long)
ASSAY_VECTOR_TYPES(ulonglong, unsigned long long)
ASSAY_VECTOR_TYPES(float, float)
ASSAY_VECTOR_TYPES(double, double)
#undef ASSAY_VECTOR_TYPES
// NOLINTEND(bugprone-macro-parentheses)

namespace assay::cpu {

/// Not a class or a number: of ASSAY_VECTOR_TYPES.
template <class T>
inline constexpr bool is_vector = !std::is_class_v<std::remove_cvref_t<T>> && !std::is_union_v<std::remove_cvref_t<T>>;

/// What the source pass makes of &v.x, where v is a vector to the compiler.
template <int Index, class Vector>
constexpr auto* component_of(Vector& v) {
  using element = decltype(v[0] + v[0]);
  if constexpr (std::is_const_v<Vector>)
    return reinterpret_cast<const element*>(&v) + Index;
  else
    return reinterpret_cast<element*>(&v) + Index;
}

/// The same of &v.lo and &v.hi.
template <int Index, class Vector>
auto* half_of(Vector& v) {
  using element = std::remove_cvref_t<decltype(v[0])>;
  using half = element __attribute__((ext_vector_type(sizeof(v) / sizeof(element) / 2)));
  if constexpr (std::is_const_v<Vector>)
    return reinterpret_cast<const half*>(&v) + Index;
  else
    return reinterpret_cast<half*>(&v) + Index;
}

}  // namespace assay::cpu

/// Extents of a grid or a block; missing extents are 1.
struct dim3 {
  unsigned int x = 1, y = 1, z = 1;
  constexpr dim3(unsigned int x_extent = 1, unsigned int y_extent = 1, unsigned int z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
  constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z) {}  // NOLINT(google-explicit-constructor)
};
