/// HIP's built-in vector types, as far as the kernels use them. Same names, layout and alignment as on the GPUs.
#pragma once

struct uint3 {
  unsigned int x, y, z;
};

/// Extents of a grid or a block; missing extents are 1.
struct dim3 {
  unsigned int x = 1, y = 1, z = 1;
  constexpr dim3(unsigned int x_extent = 1, unsigned int y_extent = 1, unsigned int z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
};

// Vectors to the compiler, too: it loads and stores them whole, and checks their alignment in checked kernels, which it
// does not for structs.
using int2 = int __attribute__((ext_vector_type(2)));
using int4 = int __attribute__((ext_vector_type(4)));
using uint2 = unsigned int __attribute__((ext_vector_type(2)));
using uint4 = unsigned int __attribute__((ext_vector_type(4)));
using float2 = float __attribute__((ext_vector_type(2)));
using float4 = float __attribute__((ext_vector_type(4)));

constexpr int2 make_int2(int x, int y) {
  return {x, y};
}
constexpr int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
constexpr uint2 make_uint2(unsigned int x, unsigned int y) {
  return {x, y};
}
constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
  return {x, y, z};
}
constexpr uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
  return {x, y, z, w};
}
constexpr float2 make_float2(float x, float y) {
  return {x, y};
}
constexpr float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
