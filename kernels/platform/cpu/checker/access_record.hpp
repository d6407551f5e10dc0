/// A word of the shadow: which thread accessed a location last, when, and at which place in the code. One word for the
/// last write and one for the last reads suffice (HiRace, SC'24, keeps one per location), since order is transitive. If
/// the new access is ordered after the one that it replaces, so is everything ordered after the new one; if not, that
/// is the race to report.
///
///   | stamp 27 | atomic 1 | spread 2 | thread 10 | site 24 |
///
/// stamp: the interval between two synchronisations of a wave (clock.hpp), in the highest bits, so that words compare
/// like stamps. spread: whether several threads, not ordered among each other, made the access. thread: within the
/// block. site: the return address of the callback, relative to the start of the module.
#pragma once

#include <cstdint>

namespace assay::cpu {

using access_record = std::uint64_t;

/// Which threads made the accesses of a record: one thread, several lanes in one wave interval, several waves in one
/// barrier interval, or several blocks in one launch.
enum class access_spread : std::uint32_t { one_thread, lanes, waves, blocks };

namespace record {

inline constexpr int site_bits = 24;
inline constexpr int thread_shift = 24;
inline constexpr int spread_shift = 34;
inline constexpr int atomic_shift = 36;
inline constexpr int stamp_shift = 37;
inline constexpr int stamp_bits = 64 - stamp_shift;
inline constexpr access_record site_mask = (access_record{1} << site_bits) - 1;
inline constexpr access_record thread_mask = access_record{0x3FF} << thread_shift;
inline constexpr access_record spread_mask = access_record{3} << spread_shift;
inline constexpr access_record atomic_mask = access_record{1} << atomic_shift;
inline constexpr access_record stamp_mask = ~access_record{0} << stamp_shift;

constexpr access_record at(std::uint32_t stamp) {
  return static_cast<access_record>(stamp) << stamp_shift;
}
constexpr std::uint32_t stamp(access_record r) {
  return static_cast<std::uint32_t>(r >> stamp_shift);
}
constexpr int thread(access_record r) {
  return static_cast<int>((r & thread_mask) >> thread_shift);
}
constexpr access_spread spread(access_record r) {
  return static_cast<access_spread>((r & spread_mask) >> spread_shift);
}
constexpr access_record with(access_record r, access_spread s) {
  return (r & ~spread_mask) | static_cast<access_record>(s) << spread_shift;
}
constexpr bool is_atomic(access_record r) {
  return (r & atomic_mask) != 0;
}
constexpr std::uintptr_t site(access_record r) {
  return static_cast<std::uintptr_t>(r & site_mask);
}
/// Where an asynchronous copy is under way: later than all stamps, and of several waves, so that neither a barrier nor
/// a collective orders it before an access, not even one of its own thread. The wait for the copy does.
constexpr access_record in_flight(access_record thread_bits, std::uintptr_t site_of_copy) {
  return with(stamp_mask | (thread_bits & thread_mask) | (site_of_copy & site_mask), access_spread::waves);
}
constexpr bool is_in_flight(access_record r) {
  return (r & stamp_mask) == stamp_mask;
}
/// Whether two records are of the same thread of the same wave interval.
constexpr bool same_thread_and_interval(access_record a, access_record b) {
  return ((a ^ b) & (stamp_mask | thread_mask)) == 0;
}

}  // namespace record

}  // namespace assay::cpu
