/// HIP for the cpu platform: enough of the API that a kernel's source compiles and runs unchanged, one fiber per GPU
/// thread (executor.hpp). Differences from a GPU that a kernel can see:
/// - Static __shared__ variables start with what the last block on the same OS thread left, dynamic LDS with 0xFF
///   bytes. Neither is initialised on a GPU: in a checked launch a read of either before a write is a defect.
/// - Dynamic LDS is named by HIP_DYNAMIC_SHARED only.
/// - Kernels are launched by hipLaunchKernelGGL only: this is plain C++, without <<<>>>.
/// - A loop that polls plain memory without any barrier, collective, atomic or fence never ends.
#pragma once

#define __HIP_PLATFORM_ASSAY_CPU__ 1

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hip/atomics.h"
#include "hip/cross_lane.h"
#include "hip/runtime_api.h"
#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/base/vector_types.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// A block never leaves its OS thread and an OS thread runs one block at a time, so thread-local is block-local.
// Before each variable lie bytes that belong to none: an overrun hits them, not the neighbour.
#define ASSAY_JOINED_NOW(a, b) a##b
#define ASSAY_JOINED(a, b) ASSAY_JOINED_NOW(a, b)
#define __shared__                                                                            \
  [[gnu::used]] static thread_local char ASSAY_JOINED(assay_shared_guard_, __COUNTER__)[256]; \
  static thread_local
// NOLINTNEXTLINE(bugprone-macro-parentheses): the arguments are a type and a name
#define HIP_DYNAMIC_SHARED(type, variable) type* const variable = static_cast<type*>(::assay::cpu::dynamic_lds())

#define threadIdx (::assay::cpu::thread_index())
#define blockIdx (::assay::cpu::block_index())
#define blockDim (::assay::cpu::block_extent())
#define gridDim (::assay::cpu::grid_extent())
#define warpSize (::assay::cpu::wave_size())

#define HIP_KERNEL_NAME(...) __VA_ARGS__
/// Runs the kernel to completion under the innermost launch_scope. Errors come by hipGetLastError.
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  ::assay::cpu::launch_kernel(#kernel, kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)

namespace assay::cpu {

template <class... Parameters, class... Arguments>
void launch_kernel(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                   hipStream_t, Arguments&&... arguments) {
  // Converted once to the parameters' types, as a GPU's argument buffer; every thread gets copies.
  struct closure {
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> arguments;
  };
  const closure bound{kernel, std::tuple<std::decay_t<Parameters>...>(std::forward<Arguments>(arguments)...)};
  const auto call = [](const void* given) {
    const closure& c = *static_cast<const closure*>(given);
    std::apply(c.kernel, c.arguments);
  };
  launch(grid_launch{name, grid, block, shared_bytes, call, &bound, sizeof bound});
}

}  // namespace assay::cpu

using std::max;
using std::min;

template <class T>
T __ldg(const T* address) {
  return *address;
}

// glibc declares functions of these names without defining them, so they can only be macros.
#define __expf(x) ::expf(x)
#define __exp2f(x) ::exp2f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float rsqrtf(float x) {
  return 1.0F / ::sqrtf(x);
}

inline int __popc(unsigned int x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned int>(x));
}
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(unsigned int x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}
inline int __ffsll(unsigned long long x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}
__forceinline__ unsigned int __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned int, x);
}
__forceinline__ float __uint_as_float(unsigned int x) {
  return __builtin_bit_cast(float, x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
