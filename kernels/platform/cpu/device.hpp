/// The cpu platform as kernels and planner see it (kernels/platform/current.hpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/library.h"
#include "kernels/platform/common/math_errors.hpp"
#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/executor/announced_call.hpp"
#include "kernels/platform/cpu/executor/async_copy.hpp"
#include "kernels/platform/cpu/executor/executor.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

/// Before a loop that a GPU's compiler must unroll for its arrays to live in registers.
#define ASSAY_UNROLL

namespace assay::platform {

inline constexpr const char* name = "cpu";
inline constexpr DLDeviceType device_type = kDLCPU;

/// Whether tiles should not wait in registers. tests/kernels/few_registers makes libraries in which it is true.
inline constexpr bool has_few_registers = false;

/// Whether copies to LDS pass through the thread's registers, as without asynchronous copies.
inline constexpr bool copies_pass_registers = false;

/// Whether warpgroups multiply (device/warpgroup.hpp), where waves have 32 lanes. tests/kernels/warpgroups makes
/// libraries in which they do: their blocks are large, and most cases small.
inline constexpr bool may_have_warpgroups = false;
inline bool has_warpgroups(int lanes) {
  return may_have_warpgroups && lanes == 32;
}

/// exp2f of glibc since 2.27 evaluates in binary64 and rounds once: at most 0.502 ulp (its sysdeps/ieee754/flt-32/
/// e_exp2f.c says so); an ulp is at most 2^-23 of the value, so 0.502 * 2^-23 < 1.01 * 2^-24. exp, log and tanh below
/// are computed in binary64 to far better than 2^-40 and rounded once: 2^-24 (1 + 2^-16).
inline constexpr math_errors errors{1.01F * 0x1p-24F, 0x1p-126F, 0.0F, 1.001F * 0x1p-24F, 1.001F * 0x1p-24F};

inline float exp2(float x) {
  return ::exp2f(x);
}
inline float exp(float x) {
  return static_cast<float>(::exp(static_cast<double>(x)));
}
inline float log(float x) {
  return static_cast<float>(::log(static_cast<double>(x)));
}
/// Below 2^-6 by the Taylor series (next term 17/315 u^7: under 2^-40 relative); above, 1 - 2 / (e^2u + 1) loses at
/// most 2^-52 absolutely, 2^-46 relatively. Beyond 10 the result rounds to 1, and e^2u must not overflow.
inline float tanh(float x) {
  const double u = std::fabs(static_cast<double>(x));
  double t = 1.0;
  if (u < 0x1p-6) {
    const double s = u * u;
    t = u * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0)));
  } else if (!(u > 10.0)) {
    t = 1.0 - 2.0 / (::exp(2.0 * u) + 1.0);
  }
  return static_cast<float>(std::copysign(t, static_cast<double>(x)));
}

/// Bytes of device memory; 0 means unknown. The host's memory would not do.
inline std::int64_t device_memory_bytes() {
  return 0;
}
/// As of a small GPU: enough for the planner to split, few enough for the host to run.
inline int compute_units() {
  return 8;
}

/// LDS that a block may have, and that the blocks of a compute unit share.
struct lds_sizes {
  int of_block, of_unit;
};
inline lds_sizes lds_bytes() {
  return {static_cast<int>(cpu::default_lds_limit_bytes), static_cast<int>(cpu::default_lds_limit_bytes)};
}
/// Lets a kernel have that much dynamic LDS. Where it may not, its launch says so.
template <class Kernel>
void allow_lds(Kernel*, int bytes) {
  static_cast<void>(cpu::ask_for_lds(static_cast<std::size_t>(bytes)));
}

/// Threads that blocks should have at the most: each is a fiber.
inline constexpr int most_threads_of_block = 128;
/// As on the other platforms. Nothing comes of it here.
constexpr int bound_of_blocks(int blocks, int /*threads*/) {
  return blocks;
}
/// Of the compute unit of NVIDIA's GPUs: kernels that choose by it are checked as they are there.
inline constexpr int registers_of_unit = 64 << 10;

/// What a launch holds while it runs: nothing in a call of the suite, which announces it.
class launch_guard {
 public:
  /// `tensors` are those of the call: what its kernels may touch.
  launch_guard(const assay_launch& launch, std::span<const assay_tensor> tensors) {
    if (!cpu::is_announced(launch)) scope_.emplace(launch, cpu::default_lds_limit_bytes, tensors);
  }

 private:
  std::optional<cpu::launch_scope> scope_;
};

/// On which kernels of a call are launched. Here they are done when the launch returns.
inline hipStream_t stream() {
  return nullptr;
}

/// Wave sizes that a launch may ask for.
inline bool has_wave_size(int lanes) {
  return lanes == 32 || lanes == 64;
}

/// Of the wave that the planner has in mind, to which no launch is known.
inline constexpr int usual_wave_lanes = 64;

/// Lanes of a wave under this launch: a multiple of it is a block's number of threads.
inline int wave_size(const assay_launch& launch) {
  return launch.wave_size;
}

/// has_few_registers of the device that a launch is for.
inline bool device_has_few_registers(const assay_launch&) {
  return has_few_registers;
}

/// As in kernels/platform/common/kernels_in_turn.hpp. A kernel starts when the one before it is done, and accesses are
/// checked as if it started early.
inline void start_next_kernel() {}
inline void await_kernel_before() {
  cpu::await_kernel_before();
}
#define ASSAY_LAUNCH_BEHIND(kernel, grid, block, ...) \
  ::assay::cpu::launch_behind(true, #kernel, kernel, grid, block, 0, ::assay::platform::stream(), __VA_ARGS__)

/// A value that is the same in all lanes of the wave: AMD's GPUs take one lane's for all. Lanes that differ throw.
inline int uniform(int value, ASSAY_HERE) {
  return cpu::demand_uniform(value, where);
}

/// 0; where registers are few, one of which the compiler does not know it.
inline int unknown_zero() {
  return 0;
}

/// Orders the LDS accesses of a wave's lanes: what they wrote before it, all of them see after it.
inline void wave_fence(ASSAY_HERE) {
  cpu::wave_barrier("wave_fence", where, cpu::every_lane);
}

/// Whether it holds in any lane of the wave, or true: to ask the others costs more than what an answer spares.
inline bool any_lane(bool) {
  return true;
}

/// A place in LDS where copies go; `+ n` is n bytes further on.
using lds_place = unsigned char*;
inline lds_place place_in_lds(unsigned char* at) {
  return at;
}

/// Begins a copy of `Bytes` (4, 8 or 16) to LDS; where it is not live nothing is read, and the destination becomes 0.
/// Always inlined: the checker names the kernel's line.
template <int Bytes, bool IsReadOnce = false>
[[gnu::always_inline]] inline void begin_copy(lds_place to, const void* from, bool is_live) {
  cpu::begin_copy(to, from, Bytes, is_live ? Bytes : 0);
}
/// Makes a group of the thread's copies since the last one.
inline void commit_copies() {
  cpu::commit_copies();
}
/// Makes what the thread wrote to LDS, by copies that it has waited for, too, visible to a matrix unit that reads LDS
/// itself: before the barrier that orders the block.
inline void publish_lds() {
  cpu::publish_lds();
}
/// Waits for the thread's groups but the newest `Pending`. Other lanes see their copies after a wave_fence().
template <int Pending>
inline void wait_for_copies() {
  cpu::wait_for_copies(Pending);
}

}  // namespace assay::platform
