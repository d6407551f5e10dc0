/// HIP for the cpu platform: enough of the API that a kernel's source compiles and runs unchanged, one fiber per GPU
/// thread (executor.hpp). Differences from a GPU that a kernel can see:
/// - Static __shared__ variables and dynamic LDS start with 0xFF bytes in each block, NaN in every float type. Neither
///   is initialised on a GPU: in a checked launch a read of either before a write is a defect.
/// - Dynamic LDS is named by HIP_DYNAMIC_SHARED, or by extern __shared__ through assay_hip.
/// - This is plain C++: sources with <<<>>> or extern __shared__ are compiled through assay_hip
/// (source_pass/assay_hip.cpp).
/// - A loop that polls plain memory without any barrier, collective, atomic or fence never ends.
#pragma once

#define __HIP_PLATFORM_ASSAY_CPU__ 1

#include <cassert>
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
#ifdef ASSAY_SOURCE_PASS  // which takes it away again, with functions of the host that have a twin for the device
#define __host__ __attribute__((assay_host))
#else
#define __host__
#endif
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// libstdc++ writes __attribute__((__noinline__)): nothing is left of it, which only costs time.
#define __noinline__
#define __align__(...) __attribute__((aligned(__VA_ARGS__)))
// A block never leaves its OS thread and an OS thread runs one block at a time, so thread-local is block-local. The
// variables have a section of their own, which the executor poisons before each block (checker/module_image.hpp); what
// is "used" the compiler does not take for a constant 0 where nothing is stored.
#define ASSAY_STATIC_LDS __attribute__((used, section("assay_lds"))) static thread_local
// Before each variable lie bytes that belong to none: an overrun hits them, not the neighbour.
#define ASSAY_JOINED_NOW(a, b) a##b
#define ASSAY_JOINED(a, b) ASSAY_JOINED_NOW(a, b)
#ifndef ASSAY_SOURCE_PASS  // which rewrites the word itself
#define __shared__                                                           \
  ASSAY_STATIC_LDS char ASSAY_JOINED(assay_shared_guard_, __COUNTER__)[256]; \
  ASSAY_STATIC_LDS
#endif
// NOLINTNEXTLINE(bugprone-macro-parentheses): the arguments are a type and a name
#define HIP_DYNAMIC_SHARED(type, variable) type* const variable = static_cast<type*>(::assay::cpu::dynamic_lds())

#ifdef ASSAY_SOURCE_PASS  // which compiles with -fdeclspec
// Objects, as clang has them for GPUs: launches have members of these names,
// and hosts have variables.
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names and functions
#define ASSAY_COORDINATES(name, function, conversions) \
  inline constexpr struct {                            \
    __declspec(property(get = get_x)) unsigned int x;  \
    __declspec(property(get = get_y)) unsigned int y;  \
    __declspec(property(get = get_z)) unsigned int z;  \
    unsigned int get_x() const {                       \
      return ::assay::cpu::function().x;               \
    }                                                  \
    unsigned int get_y() const {                       \
      return ::assay::cpu::function().y;               \
    }                                                  \
    unsigned int get_z() const {                       \
      return ::assay::cpu::function().z;               \
    }                                                  \
    conversions                                        \
  } name {                                             \
  }
// NOLINTBEGIN(google-explicit-constructor): they stand for the values
ASSAY_COORDINATES(
    threadIdx, thread_index, operator uint3() const { return ::assay::cpu::thread_index(); } operator dim3() const {
      return ::assay::cpu::thread_index();
    });
ASSAY_COORDINATES(
    blockIdx, block_index, operator uint3() const { return ::assay::cpu::block_index(); } operator dim3() const {
      return ::assay::cpu::block_index();
    });
ASSAY_COORDINATES(blockDim, block_extent, operator dim3() const { return ::assay::cpu::block_extent(); });
ASSAY_COORDINATES(gridDim, grid_extent, operator dim3() const { return ::assay::cpu::grid_extent(); });
// NOLINTEND(google-explicit-constructor)
#undef ASSAY_COORDINATES
// NOLINTEND(bugprone-macro-parentheses)
#else
#define threadIdx (::assay::cpu::thread_index())
#define blockIdx (::assay::cpu::block_index())
#define blockDim (::assay::cpu::block_extent())
#define gridDim (::assay::cpu::grid_extent())
#endif

// Not a macro, since hipDeviceProp_t has a member of that name.
#ifdef ASSAY_WAVE_SIZE
/// Sources that need it as a constant are compiled with -DASSAY_WAVE_SIZE=32 or
/// 64: then that is the wave size of all launches of the file, whatever the
/// suite asks for.
static constexpr int warpSize = ASSAY_WAVE_SIZE;
#else
/// Lanes of a wave of the running launch: no constant.
inline constexpr struct {
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the number
  operator int() const { return assay::cpu::wave_size(); }
} warpSize{};
#endif

#define HIP_KERNEL_NAME(...) __VA_ARGS__
/// Runs the kernel to completion under the innermost launch_scope. Errors come
/// by hipGetLastError.
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  ::assay::cpu::launch_kernel(#kernel, kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)

namespace assay::cpu {

/// A launch that may start before the one before it is done, where `may_start_early` says so: see grid_launch.
// A parameter of the template, since two files may differ in it.
template <int WaveSize = compiled_wave_size, class... Parameters, class... Arguments>
void launch_behind(bool may_start_early, const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                   std::size_t shared_bytes, hipStream_t, Arguments&&... arguments) {
  // Converted once to the parameters' types, as a GPU's argument buffer; every
  // thread gets copies.
  struct closure {
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> arguments;
  };
  const closure bound{kernel, std::tuple<std::decay_t<Parameters>...>(std::forward<Arguments>(arguments)...)};
  const auto call = [](const void* given) {
    const closure& c = *static_cast<const closure*>(given);
    std::apply(c.kernel, c.arguments);
  };
  launch(grid_launch{name, grid, block, shared_bytes, call, &bound, sizeof bound, WaveSize, may_start_early});
}
template <int WaveSize = compiled_wave_size, class... Parameters, class... Arguments>
void launch_kernel(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                   hipStream_t stream, Arguments&&... arguments) {
  launch_behind<WaveSize>(false, name, kernel, grid, block, shared_bytes, stream,
                          std::forward<Arguments>(arguments)...);
}

/// A launch of what only a call names: a function template of which the arguments tell template arguments. `call`
/// takes them as they are given; each thread gets copies.
template <int WaveSize = compiled_wave_size, class Call, class... Arguments>
void launch_call(const char* name, const Call& call, dim3 grid, dim3 block, std::size_t shared_bytes, hipStream_t,
                 Arguments&&... arguments) {
  struct closure {
    Call call;
    std::tuple<std::decay_t<Arguments>...> arguments;
  };
  const closure bound{call, std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)};
  const auto run = [](const void* given) {
    const closure& c = *static_cast<const closure*>(given);
    std::apply(c.call, c.arguments);
  };
  launch(grid_launch{name, grid, block, shared_bytes, run, &bound, sizeof bound, WaveSize});
}

/// A launch with addresses of the arguments.
template <int WaveSize = compiled_wave_size, class... Parameters>
hipError_t launch_with_addresses(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                 void** arguments, std::size_t shared_bytes = 0, hipStream_t stream = nullptr) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    launch_kernel<WaveSize>(name, kernel, grid, block, shared_bytes, stream,
                            *static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  }(std::index_sequence_for<Parameters...>{});
  return hipPeekAtLastError();
}

/// Of an address that a variable holds: nothing says what the arguments are. Such a launch compiles, and is refused.
template <int WaveSize = compiled_wave_size>
hipError_t launch_with_addresses(const char*, const void*, dim3, dim3, void**, std::size_t = 0, hipStream_t = nullptr) {
  return launch_without_type();
}

}  // namespace assay::cpu

/// The kernel's type says what the addresses are of: it must not be cast to
/// void*. The source pass takes such a cast away.
template <int WaveSize = assay::cpu::compiled_wave_size, class... Parameters>
hipError_t hipLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                           std::size_t shared_bytes = 0, hipStream_t stream = nullptr) {
  return assay::cpu::launch_with_addresses<WaveSize>("kernel", kernel, grid, block, arguments, shared_bytes, stream);
}

inline hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t = 0, hipStream_t = nullptr) {
  return assay::cpu::launch_without_type();
}

// Loads and stores with cache hints, which are plain ones here.
template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldca(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, std::type_identity_t<T> value) {
  *address = value;
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value) {
  *address = value;
}

/// An address in LDS as shared-memory instructions take it: a number of 32
/// bits.
inline std::size_t __cvta_generic_to_shared(const void* address) {
  return assay::cpu::shared_number(address);
}
inline void* __cvta_shared_to_generic(std::size_t number) {
  return assay::cpu::shared_pointer(number);
}

/// Steps of the schedule stand for time: a loop that waits for it lets other
/// threads run.
inline void __nanosleep(unsigned int, ASSAY_HERE) {
  assay::cpu::scheduling_point("__nanosleep", where);
}
inline long long clock64(ASSAY_HERE) {
  return assay::cpu::scheduling_clock("clock64", where);
}
inline long long wall_clock64(ASSAY_HERE) {
  return assay::cpu::scheduling_clock("wall_clock64", where);
}

#include "hip/amdgcn.h"
#include "hip/amdgcn_buffer.h"
#include "hip/amdgcn_convert.h"
#include "hip/amdgcn_mfma_blocks.h"
#include "hip/amdgcn_wmma.h"
#ifdef ASSAY_SOURCE_PASS
#include "hip/assembly.h"
#endif
#include "hip/math_functions.h"
#include "hip/module_api.h"
#include "hip/ocml.h"
