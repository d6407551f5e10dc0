/// Barriers, shuffles and votes. Each is a rendezvous: all living lanes of the wave (all threads of the block for
/// __syncthreads) must come to the same source line, or the launch ends with a reported defect. The trailing
/// `where` arguments are never passed; they identify and name the source line.
#pragma once

#include <bit>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "kernels/platform/cpu/base/thread.hpp"
#include "kernels/platform/cpu/base/unchecked.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"

inline void __syncthreads(ASSAY_HERE) {
  assay::cpu::block_barrier("__syncthreads", where, false);
}
/// Barrier, then the number of threads whose predicate is not 0.
inline int __syncthreads_count(int predicate, ASSAY_HERE) {
  return assay::cpu::block_barrier("__syncthreads_count", where, predicate != 0);
}
/// Barrier, then whether the predicate is not 0 for all threads.
inline int __syncthreads_and(int predicate, ASSAY_HERE) {
  return assay::cpu::block_barrier("__syncthreads_and", where, predicate == 0) == 0;
}
/// Barrier, then whether the predicate is not 0 for any thread.
inline int __syncthreads_or(int predicate, ASSAY_HERE) {
  return assay::cpu::block_barrier("__syncthreads_or", where, predicate != 0) != 0;
}

/// Wave-level barrier. On the GPUs' lockstep waves it only orders memory; here the lanes really wait.
inline void __syncwarp(std::uint64_t mask = assay::cpu::every_lane, ASSAY_HERE) {
  assay::cpu::wave_barrier("__syncwarp", where, mask);
}
inline void wave_barrier(ASSAY_HERE) {
  assay::cpu::wave_barrier("wave_barrier", where, assay::cpu::every_lane);
}

inline unsigned int __lane_id() {
  return static_cast<unsigned int>(assay::cpu::lane_id());
}

inline unsigned long long __ballot(int predicate, ASSAY_HERE) {
  return assay::cpu::ballot("__ballot", where, assay::cpu::every_lane, predicate != 0).set;
}
inline int __any(int predicate, ASSAY_HERE) {
  return assay::cpu::ballot("__any", where, assay::cpu::every_lane, predicate != 0).set != 0;
}
inline int __all(int predicate, ASSAY_HERE) {
  const assay::cpu::votes v = assay::cpu::ballot("__all", where, assay::cpu::every_lane, predicate != 0);
  return v.set == v.present;
}
/// The living lanes. A rendezvous here, so that the answer does not depend on which lane runs first.
inline unsigned long long __activemask(ASSAY_HERE) {
  return assay::cpu::ballot("__activemask", where, assay::cpu::every_lane, true).present;
}
inline unsigned long long __ballot_sync(std::uint64_t mask, int predicate, ASSAY_HERE) {
  return assay::cpu::ballot("__ballot_sync", where, mask, predicate != 0).set;
}
inline int __any_sync(std::uint64_t mask, int predicate, ASSAY_HERE) {
  return assay::cpu::ballot("__any_sync", where, mask, predicate != 0).set != 0;
}
inline int __all_sync(std::uint64_t mask, int predicate, ASSAY_HERE) {
  const assay::cpu::votes v = assay::cpu::ballot("__all_sync", where, mask, predicate != 0);
  return v.set == v.present;
}

namespace assay::cpu {

/// Numbers, also those of hip_fp16.h and its kin, and pairs of them.
template <class T>
concept shufflable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                     (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

template <shufflable T>
T shuffle(const char* name, std::source_location where, std::uint64_t mask, T value, int source_lane) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(shuffle_bits(name, where, mask, std::bit_cast<std::uint64_t>(value), source_lane));
  } else {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;
    const std::uint64_t moved = shuffle_bits(name, where, mask, std::bit_cast<bits>(value), source_lane);
    return std::bit_cast<T>(static_cast<bits>(moved));
  }
}

// Source lanes. A wave is cut into segments of `width` lanes (a power of two); a source outside the own segment is the
// lane itself, except that __shfl wraps: the rules of HIP's amd_warp_functions.h.
inline int indexed_lane(int source, int width) {
  return (lane_id() & ~(width - 1)) + (source & (width - 1));
}
inline int lane_above(unsigned int delta, int width) {
  const int self = lane_id(), inside = self & (width - 1);
  return delta < static_cast<unsigned int>(width - inside) ? self + static_cast<int>(delta) : self;
}
inline int lane_below(unsigned int delta, int width) {
  const int self = lane_id(), inside = self & (width - 1);
  return delta <= static_cast<unsigned int>(inside) ? self - static_cast<int>(delta) : self;
}
inline int mirrored_lane(int lane_mask, int width) {
  const int self = lane_id(), source = self ^ lane_mask;
  return source < ((self + width) & ~(width - 1)) ? source : self;
}

}  // namespace assay::cpu

template <assay::cpu::shufflable T>
T __shfl(T value, int source, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl", where, assay::cpu::every_lane, value, assay::cpu::indexed_lane(source, width));
}
template <assay::cpu::shufflable T>
T __shfl_xor(T value, int lane_mask, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_xor", where, assay::cpu::every_lane, value,
                             assay::cpu::mirrored_lane(lane_mask, width));
}
template <assay::cpu::shufflable T>
T __shfl_up(T value, unsigned int delta, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_up", where, assay::cpu::every_lane, value, assay::cpu::lane_below(delta, width));
}
template <assay::cpu::shufflable T>
T __shfl_down(T value, unsigned int delta, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_down", where, assay::cpu::every_lane, value, assay::cpu::lane_above(delta, width));
}
// As in HIP, masks are 64 bits wide on every wave size; bits of lanes that do not exist are ignored.
template <assay::cpu::shufflable T>
T __shfl_sync(std::uint64_t mask, T value, int source, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_sync", where, mask, value, assay::cpu::indexed_lane(source, width));
}
template <assay::cpu::shufflable T>
T __shfl_xor_sync(std::uint64_t mask, T value, int lane_mask, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_xor_sync", where, mask, value, assay::cpu::mirrored_lane(lane_mask, width));
}
template <assay::cpu::shufflable T>
T __shfl_up_sync(std::uint64_t mask, T value, unsigned int delta, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_up_sync", where, mask, value, assay::cpu::lane_below(delta, width));
}
template <assay::cpu::shufflable T>
T __shfl_down_sync(std::uint64_t mask, T value, unsigned int delta, int width = assay::cpu::wave_size(), ASSAY_HERE) {
  return assay::cpu::shuffle("__shfl_down_sync", where, mask, value, assay::cpu::lane_above(delta, width));
}

namespace assay::cpu {

template <class T>
struct reduced_value {
  T value;
  T result;
};
enum class reduction : std::uint8_t { sum, least, most, conjunction, disjunction, difference };

template <class T, reduction Kind>
ASSAY_NOT_CHECKED void reduce(wave_records& records) {
  const auto join = [](T a, T b) {
    using wide = std::make_unsigned_t<T>;
    switch (Kind) {
      case reduction::sum: return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
      case reduction::least: return b < a ? b : a;
      case reduction::most: return a < b ? b : a;
      case reduction::conjunction: return static_cast<T>(a & b);
      case reduction::disjunction: return static_cast<T>(a | b);
      case reduction::difference: return static_cast<T>(a ^ b);
    }
  };
  bool is_first = true;
  T result{};
  for (int lane = 0; lane < records.size; ++lane) {
    const auto* const r = static_cast<const reduced_value<T>*>(records.lane[lane]);
    if (r == nullptr) continue;
    result = is_first ? r->value : join(result, r->value);
    is_first = false;
  }
  for (int lane = 0; lane < records.size; ++lane)
    if (records.lane[lane] != nullptr) static_cast<reduced_value<T>*>(records.lane[lane])->result = result;
}

}  // namespace assay::cpu

// Over the lanes of the mask; each gets the result.
#define ASSAY_REDUCTION(name, kind)                                                                             \
  template <class T>                                                                                            \
    requires(std::is_integral_v<T>)                                                                             \
  T name(std::uint64_t mask, T value, ASSAY_HERE) {                                                             \
    assay::cpu::reduced_value<T> own{value, value};                                                             \
    assay::cpu::wave_rendezvous(#name, where, mask, &own, &assay::cpu::reduce<T, assay::cpu::reduction::kind>); \
    return own.result;                                                                                          \
  }
ASSAY_REDUCTION(__reduce_add_sync, sum)
ASSAY_REDUCTION(__reduce_min_sync, least)
ASSAY_REDUCTION(__reduce_max_sync, most)
ASSAY_REDUCTION(__reduce_and_sync, conjunction)
ASSAY_REDUCTION(__reduce_or_sync, disjunction)
ASSAY_REDUCTION(__reduce_xor_sync, difference)
#undef ASSAY_REDUCTION
