/// The way of keys and values from a paged pool to LDS: groups of keys, of which some are on their way while an earlier
/// one is at work. A ring is one wave's own, and needs no barrier of the block then, or the block's.
///
/// Copies are asynchronous, into the slots of a ring. Where copies pass through registers, the ring has one slot, and
/// the next group waits in the lane's registers, or, where these are few, is loaded when the one before it is done. On
/// that way FP8 may be widened, once for all waves that multiply it.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/device/group_pages.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_groups.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

inline constexpr int most_ring_slots = 4;

/// Slots of the ring from `base` on, each a group of K, then one of V.
struct ring_place {
  unsigned char* base;
  int k_row_bytes, v_row_bytes;  ///< of LDS: swizzled_row_bytes()
  int slots;
  unsigned char* page_ids = nullptr;  ///< of page_window_bytes, where the crew has a window
};

/// What lies in LDS of elements that a whole block multiplies as T: see key_ring's InLds.
template <class Stored, class T>
using widened_on_the_way = std::conditional_t<platform::copies_pass_registers, T, Stored>;

/// MaxBytes: of a row; of V 0: there is none. InLds: what elements are in LDS, as which FP8 is multiplied, where copies
/// pass through registers; by default what they are in memory.
template <class StoredK, class StoredV, int MaxKBytes, int MaxVBytes, class Crew = wave_crew<>,
          class KPool = pool_view<StoredK>, class InLds = StoredK>
class key_ring : group_pages<Crew> {
  using pages = group_pages<Crew>;
  static_assert(!Crew::has_window || page_window_entries * Crew::run_keys / Crew::group_keys >= most_ring_slots);

 public:
  static constexpr int group_keys = Crew::group_keys;
  static constexpr bool widens = sizeof(InLds) != sizeof(StoredK);
  static_assert(!widens || (platform::copies_pass_registers && std::is_same_v<StoredK, StoredV>));

  __device__ key_ring(const group_source<StoredK, KPool>& k, const group_source<StoredV>& v, const group_range& range,
                      const ring_place& place, Crew crew = {})
      : pages(range, crew, place.page_ids),
        k_(k),
        v_(v),
        place_(place),
        lds_(platform::place_in_lds(place.base)),
        next_(range.first) {
    if constexpr (!is_late) look_up(next_);
    if constexpr (!platform::copies_pass_registers) {
      has_usual_rows_ = has_runs_in_pages() && range.has_whole_vectors && k.row_bytes == MaxKBytes &&
                        (MaxVBytes == 0 || v.row_bytes == MaxVBytes);
      if (has_usual_rows_ && next_ < range.last) {  // else there may be no pool
        k_chunk_ = first_chunk(k_);
        if constexpr (MaxVBytes > 0) v_chunk_ = first_chunk(v_);
      }
    }
  }

  /// Starts the first groups on their way.
  __device__ void start() {
    pages::start_window();
    for (int i = 0; i < ahead(); ++i) issue();
  }

  /// After start(), waits for the thread's copies of before.
  __device__ void await_earlier() const { wait_for_copies(place_.slots - 1); }

  /// Waits until the crew's next group is in LDS, and starts another one. What was read of the group before is
  /// overwritten. Where a fence costs next to nothing the new copies begin before the wait, and need one of their own.
  __device__ void advance() {
    if constexpr (platform::copies_pass_registers) {
      crew_.fence();
      if constexpr (is_late) slot_ = platform::unknown_zero();
      store_held();
      crew_.fence();
      issue();
    } else {
      if constexpr (Crew::has_cheap_fence) {
        crew_.fence();  // all lanes are done with the slot that is filled next
        issue();
        wait_for_copies(place_.slots - 1);
        crew_.fence();  // each lane sees the copies of the others
      } else {
        wait_for_copies(place_.slots - 2);
        crew_.fence();
        issue();
      }
      slot_ = slot_ + 1 == place_.slots ? 0 : slot_ + 1;
    }
  }

  /// After the last group, before the ring's memory is used for something else.
  __device__ void finish() {
    if constexpr (!platform::copies_pass_registers) platform::wait_for_copies<0>();
    crew_.fence();
  }

  __device__ swizzled_rows keys() const { return k_of(slot_); }
  __device__ swizzled_rows values() const { return v_of(slot_); }

 private:
  using pages::crew_, pages::range_, pages::max_steps, pages::may_be_larger;
  using pages::first_step_of_run, pages::find_slots_of_runs, pages::has_runs_in_pages, pages::is_whole, pages::key_of,
      pages::look_up, pages::page_of_step, pages::row_of, pages::row_offset, pages::rows_at_once;

  static constexpr int max_copies(int max_bytes) { return max_bytes / swizzled_run_bytes * max_steps; }
  /// A group is loaded when the one before it is done.
  static constexpr bool is_late = platform::copies_pass_registers && platform::has_few_registers &&
                                  max_steps * 4 * (MaxKBytes + MaxVBytes) / swizzled_run_bytes > Crew::spare_registers;
  __device__ int k_offset(int slot) const { return slot * group_keys * (place_.k_row_bytes + place_.v_row_bytes); }
  __device__ int v_offset(int slot) const { return k_offset(slot) + group_keys * place_.k_row_bytes; }
  __device__ swizzled_rows k_of(int slot) const { return {place_.base + k_offset(slot), place_.k_row_bytes}; }
  __device__ swizzled_rows v_of(int slot) const { return {place_.base + v_offset(slot), place_.v_row_bytes}; }

  __device__ int ahead() const { return platform::copies_pass_registers ? 1 : place_.slots - 1; }

  /// move(i, thread's row, chunk, source, live bytes of 16) for each chunk of the thread.
  template <int MaxBytes, class Source, class Move>
  __device__ void for_each_chunk(const Source& from, std::int32_t group, Move move) const {
    const int chunk = crew_.member() % swizzled_chunks;
    ASSAY_UNROLL
    for (int i = 0; i < max_steps; ++i) {
      const int row = row_of(i);
      if (may_be_larger && row >= group_keys) continue;
      const bool is_live = range_.live.holds(group * group_keys + row);
      const auto* const source =
          reinterpret_cast<const unsigned char*>(from.pool.data + row_offset(from.pool, group, i));
      ASSAY_UNROLL
      for (int run = 0; run < MaxBytes / swizzled_run_bytes; ++run) {
        const int byte = run * swizzled_run_bytes + chunk * chunk_bytes;
        if (byte >= from.copied_bytes) continue;  // no break: then arrays would not be kept in registers
        const int left = from.row_bytes - byte;
        move(i * (MaxBytes / swizzled_run_bytes) + run, row, byte / chunk_bytes, source + from.pool.place_of(byte),
             is_live ? min_of(max_of(left, 0), chunk_bytes) : 0);
      }
    }
  }

  /// Where the thread's first row of slot 0 of page 0 has its first chunk.
  template <class Source>
  __device__ const unsigned char* first_chunk(const Source& from) const {
    return reinterpret_cast<const unsigned char*>(from.pool.data + row_of(0) * from.pool.slot_stride) +
           from.pool.place_of(crew_.member() % swizzled_chunks * chunk_bytes);
  }

  /// Rows of MaxBytes, with no test of each chunk. row_of_step(i): the address of the thread's first chunk in its row
  /// of step i.
  template <int MaxBytes, class Source, class IsLive, class RowOfStep>
  __device__ void copy_rows(const Source& from, int offset, IsLive is_live, RowOfStep row_of_step) const {
    // rows_at_once() is a power of two above the first row: the bits of that and of i * rows_at_once() are apart.
    const int first_row = row_of(0), first_place = swizzled_place(first_row, crew_.member() % swizzled_chunks);
    ASSAY_UNROLL
    for (int i = 0; i < max_steps; ++i) {
      const int row = row_of(i);
      if (may_be_larger && row >= group_keys) continue;
      const unsigned char* const source = row_of_step(i);
      const int further = i * rows_at_once(), place = swizzled_place(further, first_place);
      const platform::lds_place at = lds_ + (offset + first_row * MaxBytes + place * chunk_bytes) + further * MaxBytes;
      ASSAY_UNROLL
      for (int run = 0; run < MaxBytes; run += swizzled_run_bytes)
        platform::begin_copy<16, Crew::reads_once>(at + run, source + from.pool.place_of(run), is_live(row));
    }
  }

  /// Of a whole group, as most are, whose runs are in pages: the rows of a run lie at one distance.
  template <int MaxBytes, class Source>
  __device__ void copy_runs(const Source& from, int offset, const unsigned char* start,
                            const std::int32_t (&slots)[max_steps]) const {
    constexpr int element_bytes = sizeof(*from.pool.data);
    const std::int64_t further = rows_at_once() * from.pool.slot_stride * element_bytes;
    copy_rows<MaxBytes>(
        from, offset, [](int) { return true; },
        [&](int i) {
          const int first = first_step_of_run(i);
          return start + from.pool.row_offset(page_of_step(i), slots[first]) * element_bytes + (i - first) * further;
        });
  }
  __device__ void copy_usual_group() const {
    std::int32_t slots[max_steps];
    find_slots_of_runs(next_, slots);
    copy_runs<MaxKBytes>(k_, k_offset(issue_slot_), k_chunk_, slots);
    if constexpr (MaxVBytes > 0) copy_runs<MaxVBytes>(v_, v_offset(issue_slot_), v_chunk_, slots);
  }

  /// Of rows of row_bytes in LDS, from `offset` on.
  template <int MaxBytes, class Source>
  __device__ void copy(const Source& from, int offset, int row_bytes) const {
    if (range_.has_whole_vectors && from.row_bytes == MaxBytes) {
      const int chunk = crew_.member() % swizzled_chunks;
      return copy_rows<MaxBytes>(
          from, offset, [&](int row) { return range_.live.holds(next_ * group_keys + row); },
          [&](int i) {
            return reinterpret_cast<const unsigned char*>(from.pool.data + row_offset(from.pool, next_, i)) +
                   from.pool.place_of(chunk * chunk_bytes);
          });
    }
    const platform::lds_place to = lds_ + offset;
    for_each_chunk<MaxBytes>(from, next_, [&](int, int row, int chunk, const unsigned char* source, int bytes) {
      const platform::lds_place at = to + swizzled_rows{nullptr, row_bytes}.chunk_offset(row, chunk);
      if (range_.has_whole_vectors) {
        platform::begin_copy<16, Crew::reads_once>(at, source, bytes != 0);
      } else {
        platform::begin_copy<8, Crew::reads_once>(at, source, bytes != 0);
        platform::begin_copy<8, Crew::reads_once>(at + 8, source + 8, bytes > 8);
      }
    });
  }

  __device__ void issue() {
    if constexpr (platform::copies_pass_registers) {
      held_at_ = next_;
      if constexpr (!is_late) hold(next_);
    } else {
      if (next_ < range_.last) {
        pages::take_from_window();
        if (has_usual_rows_ && is_whole(next_)) {
          copy_usual_group();
        } else {
          copy<MaxKBytes>(k_, k_offset(issue_slot_), place_.k_row_bytes);
          if constexpr (MaxVBytes > 0) copy<MaxVBytes>(v_, v_offset(issue_slot_), place_.v_row_bytes);
        }
      }
      platform::commit_copies();  // an empty group, too: the wait counts them
      issue_slot_ = issue_slot_ + 1 == place_.slots ? 0 : issue_slot_ + 1;
    }
    next_ += range_.step;
    if constexpr (!is_late) look_up(next_);
  }

  /// pending: at most 3; 1 in decode's usual rings.
  __device__ static void wait_for_copies(int pending) {
    if (pending == 1) return platform::wait_for_copies<1>();
    if (pending == 2) return platform::wait_for_copies<2>();
    if (pending == 0) return platform::wait_for_copies<0>();
    platform::wait_for_copies<3>();
  }

  // The way through registers.
  template <int MaxBytes>
  struct held_chunks {
    uint4 chunk[MaxBytes > 0 ? max_copies(MaxBytes) : 1];
  };
  struct nothing {};
  template <class Held>
  using if_held = std::conditional_t<platform::copies_pass_registers && !is_late, Held, nothing>;

  template <bool IsWhole>
  __device__ static uint4 load_chunk(const unsigned char* from, int bytes) {
    if (bytes == 0) return make_uint4(0, 0, 0, 0);
    if constexpr (IsWhole) return *reinterpret_cast<const uint4*>(from);
    const uint2 low = *reinterpret_cast<const uint2*>(from);
    const uint2 high = bytes > 8 ? *reinterpret_cast<const uint2*>(from + 8) : uint2{};
    return make_uint4(low.x, low.y, high.x, high.y);
  }
  /// Where the thread's rows lie in the pool. Those of a run in one page lie at one distance: then no lane needs
  /// products of 64 bits for them.
  template <class Pool>
  __device__ void find_rows(const Pool& pool, std::int32_t group, std::int64_t (&offsets)[max_steps]) const {
    if (has_runs_in_pages() && is_whole(group)) {
      const std::int64_t further = rows_at_once() * pool.slot_stride;
      ASSAY_UNROLL
      for (int i = 0; i < max_steps; ++i) {
        const bool is_none = may_be_larger && row_of(i) >= group_keys;
        if (i == first_step_of_run(i) && !is_none) {
          const std::int32_t page = platform::uniform(page_of_step(i)),
                             slot = platform::uniform(range_.pages.slot_of(group * group_keys + i * rows_at_once()));
          offsets[i] = pool.row_offset(page, slot) + row_of(0) * pool.slot_stride;
        } else {
          offsets[i] = offsets[i - 1] + (is_none ? 0 : further);
        }
      }
    } else {
      ASSAY_UNROLL
      for (int i = 0; i < max_steps; ++i) offsets[i] = row_offset(pool, group, i);
    }
  }
  /// Loads without a condition: where a chunk is none, or dead, another one that is live. They go to the registers in
  /// which they stay, then; those with a condition go to others first, and the compiler waits for them to move them.
  template <bool IsWhole, int MaxBytes, class Source, class Held>
  __device__ void hold(const Source& from, std::int32_t group, Held& held) const {
    const int chunk = crew_.member() % swizzled_chunks;
    std::int64_t offsets[max_steps];
    find_rows(from.pool, group, offsets);
    ASSAY_UNROLL
    for (int i = 0; i < max_steps; ++i) {
      const auto* const row = reinterpret_cast<const unsigned char*>(from.pool.data + offsets[i]);
      ASSAY_UNROLL
      for (int run = 0; run < MaxBytes / swizzled_run_bytes; ++run) {
        const int byte = run * swizzled_run_bytes + chunk * chunk_bytes, left = from.row_bytes - byte;
        const unsigned char* const source = row + from.pool.place_of(left > 0 ? byte : 0);
        uint4& to = held.chunk[i * (MaxBytes / swizzled_run_bytes) + run];
        if constexpr (IsWhole) {
          to = *reinterpret_cast<const uint4*>(source);
        } else {
          const uint2 low = *reinterpret_cast<const uint2*>(source);
          const uint2 high = *reinterpret_cast<const uint2*>(source + (left > 8 || left <= 0 ? 8 : 0));
          to = make_uint4(low.x, low.y, high.x, high.y);
        }
      }
    }
  }
  /// The two ways are apart from the outside on: of a choice for each chunk the compiler makes loads of 4 bytes.
  __device__ void hold(std::int32_t group) {
    if (group >= range_.last) return;
    if (range_.has_whole_vectors) {
      hold<true, MaxKBytes>(k_, group, held_k_);
      hold<true, MaxVBytes>(v_, group, held_v_);
    } else {
      hold<false, MaxKBytes>(k_, group, held_k_);
      hold<false, MaxVBytes>(v_, group, held_v_);
    }
  }
  __device__ void store_held() {
    if constexpr (is_late) {
      if (range_.has_whole_vectors) {
        copy_late<true>(k_, k_of(0));
        copy_late<true>(v_, v_of(0));
      } else {
        copy_late<false>(k_, k_of(0));
        copy_late<false>(v_, v_of(0));
      }
    } else {
      store_held<MaxKBytes>(k_, k_of(0), held_k_);
      if constexpr (MaxVBytes > 0) store_held<MaxVBytes>(v_, v_of(0), held_v_);
    }
  }
  template <int MaxBytes, class Source, class Held>
  __device__ void store_held(const Source& from, const swizzled_rows& to, const Held& held) const {
    constexpr int runs = MaxBytes / swizzled_run_bytes;
    if (!may_be_larger && is_whole(held_at_) && from.row_bytes == MaxBytes) {
      const int chunk = crew_.member() % swizzled_chunks;
      ASSAY_UNROLL
      for (int i = 0; i < max_steps * runs; ++i)
        store_chunk(to, row_of(i / runs), i % runs * swizzled_chunks + chunk, held.chunk[i]);
      return;
    }
    for_each_chunk<MaxBytes>(from, held_at_, [&](int i, int row, int chunk, const unsigned char*, int bytes) {
      const uint4& codes = held.chunk[i];
      const bool has_low = bytes > 0, has_high = bytes > 8;
      store_chunk(
          to, row, chunk,
          make_uint4(has_low ? codes.x : 0, has_low ? codes.y : 0, has_high ? codes.z : 0, has_high ? codes.w : 0));
    });
  }
  __device__ static void store_chunk(const swizzled_rows& to, int row, int chunk, const uint4& codes) {
    if constexpr (widens) {
      uint4 wide[2];
      widen_chunk<StoredK, InLds>(wide, codes);
      ASSAY_UNROLL
      for (int i = 0; i < 2; ++i) *reinterpret_cast<uint4*>(to.chunk(row, 2 * chunk + i)) = wide[i];
    } else {
      *reinterpret_cast<uint4*>(to.chunk(row, chunk)) = codes;
    }
  }

  /// Loads and stores group `held_at_`, a few chunks at a time.
  template <bool IsWhole, class Source>
  __device__ void copy_late(const Source& from, const swizzled_rows& to) const {
#pragma unroll 1
    for (int row = row_of(0); row < group_keys; row += rows_at_once()) {
      const std::int32_t key = held_at_ * group_keys + row;
      const bool is_live = range_.live.holds(key);
      const auto* const source = reinterpret_cast<const unsigned char*>(
          from.pool.row(is_live ? range_.pages.page_of(key) : 0, range_.pages.slot_of(key)));
#pragma unroll 2
      for (int byte = crew_.member() % swizzled_chunks * chunk_bytes; byte < from.copied_bytes;
           byte += swizzled_run_bytes) {
        const int live_bytes = is_live ? min_of(max_of(from.row_bytes - byte, 0), chunk_bytes) : 0;
        store_chunk(to, row, byte / chunk_bytes, load_chunk<IsWhole>(source + from.pool.place_of(byte), live_bytes));
      }
    }
  }

  group_source<StoredK, KPool> k_;
  group_source<StoredV> v_;
  ring_place place_;
  platform::lds_place lds_;  ///< its base
  std::int32_t next_;        ///< to be issued
  int slot_ = platform::copies_pass_registers ? 0 : -1, issue_slot_ = 0;
  bool has_usual_rows_ = false;  ///< of MaxKBytes and MaxVBytes, of whole vectors, of runs in pages
  const unsigned char *k_chunk_ = nullptr, *v_chunk_ = nullptr;  ///< first_chunk()
  std::int32_t held_at_ = 0;
  if_held<held_chunks<MaxKBytes>> held_k_;
  if_held<held_chunks<MaxVBytes>> held_v_;
};

}  // namespace assay::device
