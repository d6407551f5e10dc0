/// Buffer resources and loads into the LDS of AMD GPUs.
///
/// A raw buffer access is in bounds where `offset + scalar offset` lies below the resource's number of bytes, dword by
/// dword (CDNA3 and RDNA3 ISA, "range checking"): out of bounds a load gives 0 and a store does nothing. What is in
/// bounds is checked as any access: a resource that says more bytes than the tensor has is found. Strides and swizzles
/// of resources are not known. Hints (`aux`) do nothing.
///
/// Loads into the LDS arrive at once: a missing s_waitcnt is not seen, a missing barrier is.
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>

#include "hip/amdgcn.h"
#include "kernels/platform/cpu/base/vector_types.hpp"

/// The four dwords of a resource: 48 bits of address and 14 of stride, the number of bytes, flags.
struct __amdgpu_buffer_rsrc_t {
  unsigned int word[4];
};

inline __amdgpu_buffer_rsrc_t __builtin_amdgcn_make_buffer_rsrc(const void* base, short stride, long num_bytes,
                                                                int flags) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  return {{static_cast<unsigned int>(address),
           (static_cast<unsigned int>(address >> 32) & 0xFFFF) | (static_cast<unsigned int>(stride) & 0x3FFF) << 16,
           static_cast<unsigned int>(num_bytes), static_cast<unsigned int>(flags)}};
}

// Inlined, so that the checker finds the kernel's line.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

namespace assay::cpu {

/// Vectors of three in registers, as clang's builtins have them.
using uint3_vector = unsigned int __attribute__((ext_vector_type(3)));

inline char* buffer_base(const __amdgpu_buffer_rsrc_t& resource) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it was made of a pointer
  return reinterpret_cast<char*>(resource.word[0] | std::uint64_t{resource.word[1] & 0xFFFF} << 32);
}

/// How many bytes of an access at this offset, whole dwords of it, are in bounds.
inline std::size_t bytes_in_bounds(const __amdgpu_buffer_rsrc_t& resource, std::uint64_t offset, std::size_t size) {
  const std::uint64_t end = resource.word[2];
  if (offset >= end) return 0;
  const std::uint64_t room = end - offset;
  if (size <= 4) return size <= room ? size : 0;
  return room >= size ? size : room / 4 * 4;
}

/// A copy that the checker sees as the loads or stores of a vector where it can.
template <std::size_t Size>
void copy_in_bounds(void* to, const void* from, std::size_t bytes) {
  if (bytes == Size)
    __builtin_memcpy(to, from, Size);
  else
    for (std::size_t at = 0; at < bytes; at += 4)
      __builtin_memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, 4);
}

template <class T, std::size_t Bytes = sizeof(T)>
T buffer_load(const __amdgpu_buffer_rsrc_t& resource, int offset, int scalar_offset) {
  const std::uint64_t at = std::uint64_t{static_cast<unsigned int>(offset)} + static_cast<unsigned int>(scalar_offset);
  T value{};
  copy_in_bounds<Bytes>(&value, buffer_base(resource) + at, bytes_in_bounds(resource, at, Bytes));
  return value;
}
template <std::size_t Bytes, class T>
void buffer_store(const T& value, const __amdgpu_buffer_rsrc_t& resource, int offset, int scalar_offset) {
  const std::uint64_t at = std::uint64_t{static_cast<unsigned int>(offset)} + static_cast<unsigned int>(scalar_offset);
  copy_in_bounds<Bytes>(buffer_base(resource) + at, &value, bytes_in_bounds(resource, at, Bytes));
}

/// Where a lane's share of a load into the LDS goes: all lanes have the first one's base (it is a scalar register).
inline char* lds_of_lane(const char* name, void* base, int size, int offset, std::source_location where) {
  const std::uint64_t present = ballot(name, where, every_lane, true).present;
  const std::uint64_t first =
      shuffle_bits(name, where, every_lane, reinterpret_cast<std::uint64_t>(base), std::countr_zero(present));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it was made of a pointer
  return reinterpret_cast<char*>(first) + offset + static_cast<std::ptrdiff_t>(lane_id()) * size;
}

template <std::size_t Size>
void load_into(char* to, const void* from) {
  char moved[Size];
  __builtin_memcpy(moved, from, Size);
  __builtin_memcpy(to, moved, Size);
}

}  // namespace assay::cpu

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define ASSAY_BUFFER_ACCESS(name, type, bytes)                                                                         \
  inline type __builtin_amdgcn_raw_buffer_load_##name(const __amdgpu_buffer_rsrc_t& resource, int offset,              \
                                                      int scalar_offset, [[maybe_unused]] int aux) {                   \
    return assay::cpu::buffer_load<type, bytes>(resource, offset, scalar_offset);                                      \
  }                                                                                                                    \
  inline void __builtin_amdgcn_raw_buffer_store_##name(type value, const __amdgpu_buffer_rsrc_t& resource, int offset, \
                                                       int scalar_offset, [[maybe_unused]] int aux) {                  \
    assay::cpu::buffer_store<bytes>(value, resource, offset, scalar_offset);                                           \
  }
ASSAY_BUFFER_ACCESS(b8, unsigned char, 1)
ASSAY_BUFFER_ACCESS(b16, unsigned short, 2)
ASSAY_BUFFER_ACCESS(b32, unsigned int, 4)
ASSAY_BUFFER_ACCESS(b64, uint2, 8)
ASSAY_BUFFER_ACCESS(b96, assay::cpu::uint3_vector, 12)
ASSAY_BUFFER_ACCESS(b128, uint4, 16)
#undef ASSAY_BUFFER_ACCESS
// NOLINTEND(bugprone-macro-parentheses)

/// Lane i's `size` bytes, 1, 2, 4, 12 or 16, go to the first lane's `base` plus `offset` plus i * `size`.
inline void __builtin_amdgcn_global_load_lds(const void* from, void* base, int size, int offset,
                                             [[maybe_unused]] int aux, ASSAY_HERE) {
  char* const to = assay::cpu::lds_of_lane("__builtin_amdgcn_global_load_lds", base, size, offset, where);
  const char* const source = static_cast<const char*>(from) + offset;
  switch (size) {
    case 1: return assay::cpu::load_into<1>(to, source);
    case 2: return assay::cpu::load_into<2>(to, source);
    case 4: return assay::cpu::load_into<4>(to, source);
    case 12: return assay::cpu::load_into<12>(to, source);
    default: return assay::cpu::load_into<16>(to, source);
  }
}
/// The same from a buffer: out of bounds, zeros.
inline void __builtin_amdgcn_raw_ptr_buffer_load_lds(const __amdgpu_buffer_rsrc_t& resource, void* base, int size,
                                                     int offset, int scalar_offset, int immediate,
                                                     [[maybe_unused]] int aux, ASSAY_HERE) {
  char* const to = assay::cpu::lds_of_lane("__builtin_amdgcn_raw_ptr_buffer_load_lds", base, size, immediate, where);
  if (size == 4) {
    const unsigned int value = assay::cpu::buffer_load<unsigned int>(resource, offset + immediate, scalar_offset);
    __builtin_memcpy(to, &value, 4);
  } else if (size == 12) {
    const auto value =
        assay::cpu::buffer_load<assay::cpu::uint3_vector, 12>(resource, offset + immediate, scalar_offset);
    __builtin_memcpy(to, &value, 12);
  } else {
    const uint4 value = assay::cpu::buffer_load<uint4>(resource, offset + immediate, scalar_offset);
    __builtin_memcpy(to, &value, 16);
  }
}
inline void __builtin_amdgcn_raw_buffer_load_lds(const __amdgpu_buffer_rsrc_t& resource, void* base, int size,
                                                 int offset, int scalar_offset, int immediate, int aux, ASSAY_HERE) {
  __builtin_amdgcn_raw_ptr_buffer_load_lds(resource, base, size, offset, scalar_offset, immediate, aux, where);
}

#pragma clang attribute pop
