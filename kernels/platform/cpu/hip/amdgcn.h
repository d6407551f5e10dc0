/// AMD's builtins of clang, as functions: the compiler knows them for AMD's targets only. Meanings are those of AMD's
/// instruction set manuals (CDNA3, RDNA3). Lanes that left the kernel take no part. Where a GPU would take what it
/// finds, such as a permutation from a lane that is not there, the executor reports a defect.
///
/// Each builtin across lanes is a rendezvous of all living lanes of the wave: inside of a branch that only some lanes
/// take, it is reported as divergent, though a GPU would take the active ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hip/atomics.h"
#include "hip/cross_lane.h"
#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

// Where a thread is.
inline unsigned int __builtin_amdgcn_workitem_id_x() {
  return assay::cpu::thread_index().x;
}
inline unsigned int __builtin_amdgcn_workitem_id_y() {
  return assay::cpu::thread_index().y;
}
inline unsigned int __builtin_amdgcn_workitem_id_z() {
  return assay::cpu::thread_index().z;
}
inline unsigned int __builtin_amdgcn_workgroup_id_x() {
  return assay::cpu::block_index().x;
}
inline unsigned int __builtin_amdgcn_workgroup_id_y() {
  return assay::cpu::block_index().y;
}
inline unsigned int __builtin_amdgcn_workgroup_id_z() {
  return assay::cpu::block_index().z;
}
inline unsigned int __builtin_amdgcn_wavefrontsize() {
  return static_cast<unsigned int>(assay::cpu::wave_size());
}
/// `base` plus the bits of `mask` that are of lanes below this one; lanes 0 to 31, and 32 to 63.
inline unsigned int __builtin_amdgcn_mbcnt_lo(unsigned int mask, unsigned int base) {
  const int lane = assay::cpu::lane_id();
  const unsigned int below = lane >= 32 ? ~0U : (1U << lane) - 1;
  return base + static_cast<unsigned int>(std::popcount(mask & below));
}
inline unsigned int __builtin_amdgcn_mbcnt_hi(unsigned int mask, unsigned int base) {
  const int lane = assay::cpu::lane_id();
  const unsigned int below = lane < 32 ? 0 : (1U << (lane - 32)) - 1;
  return base + static_cast<unsigned int>(std::popcount(mask & below));
}

// Order. What only tells a GPU when to issue instructions does nothing.
inline void __builtin_amdgcn_s_barrier(ASSAY_HERE) {
  assay::cpu::block_barrier("__builtin_amdgcn_s_barrier", where, false);
}
/// A barrier in two parts, of the block (-1). Threads wait in the second: what they do between the two counts as done
/// before the barrier.
inline void __builtin_amdgcn_s_barrier_signal(int) {}
inline void __builtin_amdgcn_s_barrier_wait(int, ASSAY_HERE) {
  assay::cpu::block_barrier("__builtin_amdgcn_s_barrier_wait", where, false);
}
inline void __builtin_amdgcn_wave_barrier(ASSAY_HERE) {
  assay::cpu::wave_barrier("__builtin_amdgcn_wave_barrier", where, assay::cpu::every_lane);
}
/// `scope` as in "workgroup", "wavefront", "agent" or "" for the system.
inline void __builtin_amdgcn_fence(unsigned int, const char* scope, ASSAY_HERE) {
  const bool is_of_block = std::strncmp(scope, "workgroup", 9) == 0 || std::strncmp(scope, "wavefront", 9) == 0;
  assay::cpu::scheduling_point("__builtin_amdgcn_fence", where);
  assay::cpu::fence(is_of_block ? assay::cpu::fence_scope::block : assay::cpu::fence_scope::device);
}
inline void __builtin_amdgcn_s_sleep(int, ASSAY_HERE) {
  assay::cpu::scheduling_point("__builtin_amdgcn_s_sleep", where);
}
inline void __builtin_amdgcn_s_waitcnt(int) {}
inline void __builtin_amdgcn_s_wait_event_export_ready() {}
inline void __builtin_amdgcn_s_nop(int) {}
inline void __builtin_amdgcn_s_setprio(int) {}
inline void __builtin_amdgcn_s_dcache_inv() {}
inline void __builtin_amdgcn_buffer_wbinvl1() {}
inline void __builtin_amdgcn_sched_barrier(int) {}
inline void __builtin_amdgcn_sched_group_barrier(int, int, int) {}
inline void __builtin_amdgcn_iglp_opt(int) {}
inline unsigned long long __builtin_amdgcn_s_memtime(ASSAY_HERE) {
  return static_cast<unsigned long long>(assay::cpu::scheduling_clock("__builtin_amdgcn_s_memtime", where));
}
inline unsigned long long __builtin_amdgcn_s_memrealtime(ASSAY_HERE) {
  return static_cast<unsigned long long>(assay::cpu::scheduling_clock("__builtin_amdgcn_s_memrealtime", where));
}

// Across lanes.
inline unsigned long long __builtin_amdgcn_ballot_w64(bool predicate, ASSAY_HERE) {
  return assay::cpu::ballot("__builtin_amdgcn_ballot_w64", where, assay::cpu::every_lane, predicate).set;
}
inline unsigned int __builtin_amdgcn_ballot_w32(bool predicate, ASSAY_HERE) {
  return static_cast<unsigned int>(
      assay::cpu::ballot("__builtin_amdgcn_ballot_w32", where, assay::cpu::every_lane, predicate).set);
}
/// The lanes that are still there.
inline unsigned long long __builtin_amdgcn_read_exec(ASSAY_HERE) {
  return assay::cpu::ballot("__builtin_amdgcn_read_exec", where, assay::cpu::every_lane, true).present;
}
template <assay::cpu::shufflable T>
T __builtin_amdgcn_readlane(T value, int lane, ASSAY_HERE) {
  return assay::cpu::shuffle("__builtin_amdgcn_readlane", where, assay::cpu::every_lane, value,
                             lane & (assay::cpu::wave_size() - 1));
}
/// Of the first lane that is still there.
template <assay::cpu::shufflable T>
T __builtin_amdgcn_readfirstlane(T value, ASSAY_HERE) {
  const std::uint64_t present =
      assay::cpu::ballot("__builtin_amdgcn_readfirstlane", where, assay::cpu::every_lane, true).present;
  return assay::cpu::shuffle("__builtin_amdgcn_readfirstlane", where, assay::cpu::every_lane, value,
                             std::countr_zero(present));
}
/// From lane address / 4.
inline int __builtin_amdgcn_ds_bpermute(int address, int value, ASSAY_HERE) {
  return assay::cpu::shuffle("__builtin_amdgcn_ds_bpermute", where, assay::cpu::every_lane, value,
                             address / 4 & (assay::cpu::wave_size() - 1));
}

namespace assay::cpu {

struct pushed_value {
  int to_lane;
  int value;
  int result;
};
void push_values(wave_records& records);

/// The lane from which ds_swizzle takes its value.
inline int swizzled_lane(int pattern) {
  const int lane = lane_id();
  if ((pattern & 0x8000) != 0) return (lane & ~3) | (pattern >> (2 * (lane & 3)) & 3);
  const int and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
  return (lane & ~31) | ((((lane & 31) & and_mask) | or_mask) ^ xor_mask);
}

/// The lane from which a DPP move takes its value; -1 where there is none.
int dpp_lane(int control, int lane, int lanes);

}  // namespace assay::cpu

/// To lane address / 4. Of two lanes that give to one, the higher one wins; a lane that gets none has 0.
inline int __builtin_amdgcn_ds_permute(int address, int value, ASSAY_HERE) {
  assay::cpu::pushed_value own{address / 4 & (assay::cpu::wave_size() - 1), value, 0};
  assay::cpu::wave_rendezvous("__builtin_amdgcn_ds_permute", where, &own, &assay::cpu::push_values);
  return own.result;
}
inline int __builtin_amdgcn_ds_swizzle(int value, int pattern, ASSAY_HERE) {
  return assay::cpu::shuffle("__builtin_amdgcn_ds_swizzle", where, assay::cpu::every_lane, value,
                             assay::cpu::swizzled_lane(pattern));
}
/// `row_mask` and `bank_mask` choose rows of 16 lanes and banks of 4: others keep `old`. Without a source lane: 0 with
/// `bound_control`, else `old`.
inline int __builtin_amdgcn_update_dpp(int old, int value, int control, int row_mask, int bank_mask, bool bound_control,
                                       ASSAY_HERE) {
  const int lane = assay::cpu::lane_id(), source = assay::cpu::dpp_lane(control, lane, assay::cpu::wave_size());
  const int moved = assay::cpu::shuffle("__builtin_amdgcn_update_dpp", where, assay::cpu::every_lane, value,
                                        source < 0 ? lane : source);
  if ((row_mask >> (lane / 16) & 1) == 0 || (bank_mask >> (lane % 16 / 4) & 1) == 0) return old;
  return source >= 0 ? moved : bound_control ? 0 : old;
}
inline int __builtin_amdgcn_mov_dpp(int value, int control, int row_mask, int bank_mask, bool bound_control,
                                    ASSAY_HERE) {
  return __builtin_amdgcn_update_dpp(0, value, control, row_mask, bank_mask, bound_control, where);
}

// Numbers. The GPUs' are off by an ulp; these round once.
inline float __builtin_amdgcn_exp2f(float x) {
  return ::exp2f(x);
}
inline float __builtin_amdgcn_logf(float x) {
  return ::log2f(x);
}
inline float __builtin_amdgcn_rcpf(float x) {
  return 1.0F / x;
}
inline float __builtin_amdgcn_rsqf(float x) {
  return static_cast<float>(1.0 / ::sqrt(static_cast<double>(x)));
}
inline float __builtin_amdgcn_sqrtf(float x) {
  return ::sqrtf(x);
}
inline double __builtin_amdgcn_rcp(double x) {
  return 1.0 / x;
}
inline double __builtin_amdgcn_sqrt(double x) {
  return ::sqrt(x);
}
inline float __builtin_amdgcn_ldexpf(float x, int power) {
  return ::ldexpf(x, power);
}
/// The middle of three numbers; the smaller of the others if one is NaN.
inline float __builtin_amdgcn_fmed3f(float a, float b, float c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return ::fminf(::fminf(a, b), c);
  return ::fmaxf(::fminf(a, b), ::fminf(::fmaxf(a, b), c));
}
/// v_perm_b32: each byte of the selector chooses one of (high << 32 | low), counted from the lowest; 8 to 11: the sign
/// of byte 1, 3, 5 or 7; 12: 0x00; above: 0xFF.
inline unsigned int __builtin_amdgcn_perm(unsigned int high, unsigned int low, unsigned int selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int choice = selector >> (8 * i) & 0xFF;
    unsigned int byte = 0xFF;
    if (choice < 8)
      byte = static_cast<unsigned int>(bytes >> (8 * choice)) & 0xFF;
    else if (choice < 12)
      byte = (bytes >> (16 * (choice - 8) + 15) & 1) != 0 ? 0xFF : 0;
    else if (choice == 12)
      byte = 0;
    result |= byte << (8 * i);
  }
  return result;
}
/// The distances of the two pairs of 16 bits, and `sum`.
inline unsigned int __builtin_amdgcn_sad_u16(unsigned int a, unsigned int b, unsigned int sum) {
  for (const int shift : {0, 16}) {
    const unsigned int x = a >> shift & 0xFFFF, y = b >> shift & 0xFFFF;
    sum += x > y ? x - y : y - x;
  }
  return sum;
}
inline unsigned int __builtin_amdgcn_alignbit(unsigned int high, unsigned int low, unsigned int bits) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
inline unsigned int __builtin_amdgcn_alignbyte(unsigned int high, unsigned int low, unsigned int bytes) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (8 * (bytes & 3)));
}
inline unsigned int __builtin_amdgcn_ubfe(unsigned int x, unsigned int offset, unsigned int width) {
  width &= 31;
  return x >> (offset & 31) & ((1U << width) - 1);
}
inline int __builtin_amdgcn_sbfe(int x, unsigned int offset, unsigned int width) {
  width &= 31;
  if (width == 0) return 0;
  const unsigned int field = static_cast<unsigned int>(x) >> (offset & 31) & ((1U << width) - 1);
  const unsigned int sign = 1U << (width - 1);
  return static_cast<int>((field ^ sign) - sign);
}

#include "hip/amdgcn_mfma.h"
