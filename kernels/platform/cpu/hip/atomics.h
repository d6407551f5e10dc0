/// Atomics and fences. Real atomics, since blocks may run on several OS threads; each is a scheduling point *before* it
/// takes effect. Relaxed order, as on the GPUs: order between threads comes from __threadfence. The compiler's own
/// atomics and fences (__atomic_*, __hip_atomic_*, __scoped_atomic_*, std::atomic_ref) may be used as well: in checked
/// kernels they call back (checker/atomic_callbacks.cpp). Of their scopes a CPU's compiler tells nothing: each counts
/// as the device's.
#pragma once

// What clang defines for HIP.
#ifndef __HIP_MEMORY_SCOPE_SYSTEM
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"

namespace assay::cpu {

/// Whether two values have the same bits: a NaN equals itself, and -0 differs from 0.
template <class T>
bool same_bits(T a, T b) {
  using bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<bytes>(a) == std::bit_cast<bytes>(b);
}

/// The part of update_atomically that belongs to the platform: not inlined into kernels, and not checked.
template <class T, class F>
[[gnu::noinline]] ASSAY_NOT_INSTRUMENTED T update_now(T* address, F change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  T desired = change(old);
  while (!__atomic_compare_exchange(address, &old, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    desired = change(old);
  if (!same_bits(old, desired)) note_progress();
  return old;
}

// Inlined, so that the checker finds the kernel's line.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

/// *address = change(*address), atomically; returns the old value. A step that leaves memory as it was counts as
/// waiting, not as progress: a block in which only such steps happen is deadlocked.
template <class T, class F>
T update_atomically(const char* name, std::source_location where, T* address, F change) {
  scheduling_point(name, where);
  const atomic_note note(address, sizeof(T), relaxed_update);
  return update_now(address, change);
}

template <class T>
concept atomic_integer =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned int> || std::is_same_v<T, unsigned long long> ||
    std::is_same_v<T, long long> || std::is_same_v<T, unsigned long> || std::is_same_v<T, long>;
template <class T>
concept atomic_number = atomic_integer<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// A sum that wraps on overflow, as on GPUs.
template <atomic_number T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    using wide = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
  }
}

}  // namespace assay::cpu

#define ASSAY_UPDATE(name, expression)                \
  assay::cpu::update_atomically(name, where, address, \
                                [=]([[maybe_unused]] T old) { return static_cast<T>(expression); })

// The operand is std::type_identity_t so that atomicAdd(&counter, 1) deduces its type from the address alone.
template <assay::cpu::atomic_number T>
T atomicAdd(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicAdd", assay::cpu::wrapping_sum<T>(old, value));
}
template <assay::cpu::atomic_integer T>
T atomicSub(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  using wide = std::make_unsigned_t<T>;
  return ASSAY_UPDATE("atomicSub", static_cast<wide>(old) - static_cast<wide>(value));
}
template <assay::cpu::atomic_number T>
T atomicMax(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicMax", old < value ? value : old);
}
template <assay::cpu::atomic_number T>
T atomicMin(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicMin", value < old ? value : old);
}
template <assay::cpu::atomic_integer T>
T atomicOr(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicOr", old | value);
}
template <assay::cpu::atomic_integer T>
T atomicAnd(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicAnd", old & value);
}
template <assay::cpu::atomic_integer T>
T atomicXor(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicXor", old ^ value);
}
template <assay::cpu::atomic_number T>
T atomicExch(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicExch", value);
}
template <assay::cpu::atomic_integer T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value, ASSAY_HERE) {
  return ASSAY_UPDATE("atomicCAS", old == expected ? value : old);
}
/// old >= limit ? 0 : old + 1.
inline unsigned int atomicInc(unsigned int* address, unsigned int limit, ASSAY_HERE) {
  using T = unsigned int;
  return ASSAY_UPDATE("atomicInc", old >= limit ? 0U : old + 1U);
}

// Each element by itself is atomic, the vector is not.
inline float2 atomicAdd(float2* address, float2 value, ASSAY_HERE) {
  float* const parts = reinterpret_cast<float*>(address);
  const float x = atomicAdd(parts, value.x, where), y = atomicAdd(parts + 1, value.y, where);
  return {x, y};
}
inline float4 atomicAdd(float4* address, float4 value, ASSAY_HERE) {
  float* const parts = reinterpret_cast<float*>(address);
  const float x = atomicAdd(parts, value.x, where), y = atomicAdd(parts + 1, value.y, where);
  const float z = atomicAdd(parts + 2, value.z, where), w = atomicAdd(parts + 3, value.w, where);
  return {x, y, z, w};
}
/// On GPUs, those that are fast where memory may be coarse-grained.
template <assay::cpu::atomic_number T>
T unsafeAtomicAdd(T* address, std::type_identity_t<T> value, ASSAY_HERE) {
  return atomicAdd(address, value, where);
}
// Of one block's threads, of the system's: here they are the same.
#define ASSAY_SCOPED(name)                                                 \
  template <assay::cpu::atomic_number T>                                   \
  T name##_block(T* address, std::type_identity_t<T> value, ASSAY_HERE) {  \
    return name(address, value, where);                                    \
  }                                                                        \
  template <assay::cpu::atomic_number T>                                   \
  T name##_system(T* address, std::type_identity_t<T> value, ASSAY_HERE) { \
    return name(address, value, where);                                    \
  }
ASSAY_SCOPED(atomicAdd)
ASSAY_SCOPED(atomicMax)
ASSAY_SCOPED(atomicMin)
ASSAY_SCOPED(atomicExch)
#undef ASSAY_SCOPED
inline float __builtin_amdgcn_global_atomic_fadd_f32(float* address, float value, ASSAY_HERE) {
  return atomicAdd(address, value, where);
}
inline float __builtin_amdgcn_ds_atomic_fadd_f32(float* address, float value, ASSAY_HERE) {
  return atomicAdd(address, value, where);
}

#undef ASSAY_UPDATE
#pragma clang attribute pop

// A fence is a scheduling point too: it is where a loop that polls plain memory can let others run.
inline void __threadfence(ASSAY_HERE) {
  assay::cpu::scheduling_point("__threadfence", where);
  assay::cpu::fence(assay::cpu::fence_scope::device);
}
/// Orders what threads of the block see, and no others.
inline void __threadfence_block(ASSAY_HERE) {
  assay::cpu::scheduling_point("__threadfence_block", where);
  assay::cpu::fence(assay::cpu::fence_scope::block);
}
inline void __threadfence_system(ASSAY_HERE) {
  assay::cpu::scheduling_point("__threadfence_system", where);
  assay::cpu::fence(assay::cpu::fence_scope::device);
}
