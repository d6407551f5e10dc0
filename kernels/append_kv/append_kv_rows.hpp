/// New rows as append_kv reads them: eight elements at a time, as they are or rotated, and where they go.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/append_kv/append_kv_arguments.hpp"
#include "kernels/append_kv/append_kv_check.hpp"
#include "kernels/device/convert.hpp"
#include "kernels/device/vector.hpp"
#include "kernels/platform/current.hpp"

namespace assay {

/// Whether a row of the call is wrong: then nothing may be stored, and of slots and positions nothing loaded. Waits for
/// the check, which is the kernel before; all blocks come here. What the call is given, the check's stream had before:
/// it may be loaded earlier.
__device__ inline bool has_wrong_row(const append_kv_arguments& a) {
  platform::await_kernel_before();
  return *a.wrong_row != append_no_row;
}

/// Eight elements as numbers.
struct eight_floats {
  float x[device::vector_elements];
};

/// Where a slot lies in the pools.
struct cache_place {
  std::int64_t page;
  std::int64_t slot;
};

/// The page of a slot, which is at least 0.
__device__ inline std::int64_t page_of(const append_kv_arguments& a, std::int64_t slot) {
  return a.page_slots.quotient(slot);
}

/// Elements from a pool's first slot to another one, which is at least 0. The two terms may wrap where pages lie within
/// one another; their sum is within the pool.
__device__ inline std::int64_t slot_offset(const append_kv_arguments& a, const append_kv_side& side,
                                           std::int64_t slot) {
  const auto within = static_cast<std::uint64_t>(slot) * static_cast<std::uint64_t>(side.pool.stride[1]);
  const auto between = static_cast<std::uint64_t>(page_of(a, slot)) * static_cast<std::uint64_t>(side.page_gap);
  return static_cast<std::int64_t>(within + between);
}

/// Eight elements of a pool's first slot: a vector of a head.
template <class T>
__device__ inline T* first_vector(const append_kv_side& side, int head, int vector) {
  return static_cast<T*>(side.pool.data) + head * side.pool.stride[2] + vector * device::vector_elements;
}
/// The same of another slot. 64 bits, since a pool may be larger than 4 GiB.
template <class T>
__device__ inline T* pool_vector(const append_kv_side& side, const cache_place& at, int head, int vector) {
  return first_vector<T>(side, head, vector) + at.page * side.pool.stride[0] + at.slot * side.pool.stride[1];
}

template <class T>
__device__ inline const T* new_head(const append_kv_side& side, std::int64_t row, int head) {
  return static_cast<const T*>(side.rows.data) + row * side.rows.stride[0] + head * side.rows.stride[1];
}

/// Eight elements of two bytes, at any element's address if not `aligned`.
template <class T>
__device__ inline device::packed<2> load_bits(const T* from, bool aligned) {
  if (aligned) return device::load8(from);
  unsigned int words[4] = {};
  ASSAY_UNROLL
  for (int i = 0; i < device::vector_elements; ++i)
    words[i / 2] |= static_cast<unsigned int>(from[i].bits) << (16 * (i % 2));
  return {make_uint4(words[0], words[1], words[2], words[3])};
}

template <class T>
__device__ inline eight_floats to_floats(const device::packed<2>& bits) {
  eight_floats to;
  ASSAY_UNROLL
  for (int i = 0; i < device::vector_elements; ++i)
    to.x[i] = device::to_float(T{static_cast<std::uint16_t>(device::element(bits, i))});
  return to;
}

/// A row of a rope table from its element `first` on, a multiple of four; `to` takes four or eight.
template <int Count>
__device__ inline void load_angles(const float* from, bool aligned, float (&to)[Count]) {
  ASSAY_UNROLL
  for (int i = 0; i < Count; i += 4) {
    if (aligned) {
      const uint4 bits = *reinterpret_cast<const uint4*>(from + i);
      to[i] = __uint_as_float(bits.x), to[i + 1] = __uint_as_float(bits.y);
      to[i + 2] = __uint_as_float(bits.z), to[i + 3] = __uint_as_float(bits.w);
    } else {
      for (int j = i; j < i + 4; ++j) to[j] = from[j];
    }
  }
}

// Both halves of a rotation: three roundings each, two products and their sum.
__device__ inline float rotated_first(float first, float second, float cosine, float sine) {
  return first * cosine - second * sine;
}
__device__ inline float rotated_second(float first, float second, float cosine, float sine) {
  return second * cosine + first * sine;
}

/// Pairs of neighbours: all in the own vector.
__device__ inline eight_floats rotate_interleaved(const append_kv_arguments& a, const eight_floats& own,
                                                  const float* cosines, const float* sines, int vector) {
  float c[4], s[4];
  load_angles(cosines + vector * 4, a.rope_aligned != 0, c);
  load_angles(sines + vector * 4, a.rope_aligned != 0, s);
  eight_floats to;
  ASSAY_UNROLL
  for (int i = 0; i < 4; ++i) {
    to.x[2 * i] = rotated_first(own.x[2 * i], own.x[2 * i + 1], c[i], s[i]);
    to.x[2 * i + 1] = rotated_second(own.x[2 * i], own.x[2 * i + 1], c[i], s[i]);
  }
  return to;
}

/// Pairs of elements half a head apart. The partners are another vector, or where half a head is an odd multiple of
/// four, four elements of each of two.
template <class T>
__device__ inline eight_floats rotate_halves(const append_kv_arguments& a, const T* head, const eight_floats& own,
                                             const float* cosines, const float* sines, int vector) {
  const int half = a.k.head_dim / 2, start = vector * device::vector_elements;
  eight_floats partner, to;
  float c[device::vector_elements], s[device::vector_elements];
  if (half % device::vector_elements == 0) {
    const int angle = start < half ? start : start - half;
    partner = to_floats<T>(load_bits(head + (start < half ? start + half : angle), a.k.rows_aligned != 0));
    load_angles(cosines + angle, a.rope_aligned != 0, c);
    load_angles(sines + angle, a.rope_aligned != 0, s);
  } else {
    ASSAY_UNROLL
    for (int i = 0; i < device::vector_elements; ++i) {
      const int element = start + i, angle = element < half ? element : element - half;
      partner.x[i] = device::to_float(head[element < half ? element + half : angle]);
      c[i] = cosines[angle], s[i] = sines[angle];
    }
  }
  ASSAY_UNROLL
  for (int i = 0; i < device::vector_elements; ++i)
    to.x[i] = start + i < half ? rotated_first(own.x[i], partner.x[i], c[i], s[i])
                               : rotated_second(partner.x[i], own.x[i], c[i], s[i]);
  return to;
}

/// A vector of a head of a row of k_new (`is_k`) or v_new.
struct row_vector {
  std::int64_t row;
  int head;
  int vector;
  bool is_k;
};

template <class T>
__device__ inline device::packed<2> load_new(const append_kv_arguments& a, const row_vector& at) {
  const append_kv_side& side = at.is_k ? a.k : a.v;
  return load_bits(new_head<T>(side, at.row, at.head) + at.vector * device::vector_elements, side.rows_aligned != 0);
}

/// x of problem.hpp, from what was loaded: rotated where it is of a key, and so asked.
template <class T>
__device__ inline eight_floats value_of(const append_kv_arguments& a, const row_vector& at,
                                        const device::packed<2>& loaded) {
  const eight_floats own = to_floats<T>(loaded);
  if (!at.is_k || a.rotary == rotary_kind::none) return own;
  const std::int64_t position = a.positions[at.row];
  const float* const cosines = a.rope_cos + position * a.cos_stride;
  const float* const sines = a.rope_sin + position * a.sin_stride;
  if (a.rotary == rotary_kind::interleaved) return rotate_interleaved(a, own, cosines, sines, at.vector);
  return rotate_halves(a, new_head<T>(a.k, at.row, at.head), own, cosines, sines, at.vector);
}

}  // namespace assay
