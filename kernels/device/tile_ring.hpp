/// The way of tiles of 128 keys and values from a paged pool to LDS, where a matrix unit reads them, in strips: the way
/// of key_ring.hpp for warpgroups. One warpgroup brings the tiles, and widens FP8 on their way where it is not
/// multiplied as it is; others multiply them. Values come a tile later than their keys: they are multiplied when the
/// next tile's logits are, too.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/device/arrival_barrier.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_groups.hpp"
#include "kernels/device/pool_view.hpp"
#include "kernels/device/swizzled_rows.hpp"
#include "kernels/platform/current.hpp"

namespace assay::device {

inline constexpr int ring_tile_keys = 128;
inline constexpr int bringing_threads = 128;

/// Of the ring in LDS. Stored: in the pool; Key, Value: as it is multiplied. MaxDim: elements of a row, a multiple of
/// 64. Load i, which has the keys of tile i and the values of tile i - 1, lies in slot i % slots. Behind the slots what
/// is widened has two places for codes on their way.
template <class Stored, class Key, class Value, int MaxDim>
struct tile_ring {
  static constexpr bool widens_keys = sizeof(Stored) != sizeof(Key), widens_values = sizeof(Stored) != sizeof(Value);
  static constexpr int slots = widens_keys ? 2 : 3;
  static constexpr int strip_bytes = ring_tile_keys * swizzled_run_bytes;
  static constexpr int key_bytes = ring_tile_keys * swizzled_row_bytes(MaxDim * static_cast<int>(sizeof(Key)));
  static constexpr int value_bytes = ring_tile_keys * swizzled_row_bytes(MaxDim * static_cast<int>(sizeof(Value)));
  static constexpr int slot_bytes = key_bytes + value_bytes;
  /// Codes of a tile: all threads have a chunk of each step.
  static constexpr int key_codes_bytes = widens_keys ? strip_bytes : 0;
  static constexpr int value_codes_bytes = widens_values ? strip_bytes : 0;
  static constexpr int codes_at = slots * slot_bytes;
  static constexpr int lds_bytes = codes_at + 2 * (key_codes_bytes + value_codes_bytes);

  __device__ static swizzled_strips keys(unsigned char* lds, int slot) {
    return {lds + slot * slot_bytes, strip_bytes};
  }
  __device__ static swizzled_strips values(unsigned char* lds, int slot) {
    return {lds + slot * slot_bytes + key_bytes, strip_bytes};
  }
  /// Codes of load `load`.
  __device__ static unsigned char* codes_of_keys(unsigned char* lds, int load) {
    return lds + codes_at + load % 2 * (key_codes_bytes + value_codes_bytes);
  }
  __device__ static unsigned char* codes_of_values(unsigned char* lds, int load) {
    return codes_of_keys(lds, load) + key_codes_bytes;
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Barriers of a ring: of each slot's load, and of the turns of the two groups of waves that take the loads.
template <int Slots>
struct ring_barriers {
  arrival_barrier full[Slots], empty[Slots], turn[2];

  /// By one thread; a barrier of the block follows. taking_waves: of both groups, half of them each.
  __device__ void start(int taking_waves) {
    for (int i = 0; i < Slots; ++i) full[i].start(bringing_threads), empty[i].start(taking_waves);
    for (arrival_barrier& of_group : turn) of_group.start(taking_waves / 2);
  }
};

/// Where a wave of one of the two groups is in the ring. The groups take turns at the matrix unit, so that the one
/// multiplies while the other one does something else: each load is a turn of each, the first one's first.
template <class Ring>
class tile_taker {
 public:
  /// group: 0 or 1.
  __device__ tile_taker(unsigned char* lds, ring_barriers<Ring::slots>& barriers, int group)
      : lds_(lds), barriers_(barriers), group_(group) {
    if (group == 1) pass_turn();
  }

  /// Waits for the next load, and for the group's turn: all lanes do, before one of them tells of what the wave did.
  __device__ void advance() {
    barriers_.full[slot_].wait(parity_);
    barriers_.turn[group_].wait(turn_);
    turn_ ^= 1;
    platform::wave_fence();
  }
  /// The other group's turn: the wave has begun all products of the load.
  __device__ void pass_turn() {
    if (is_first_lane()) barriers_.turn[group_ ^ 1].arrive();
  }
  __device__ swizzled_strips keys() const { return Ring::keys(lds_, slot_); }
  __device__ swizzled_strips values() const { return Ring::values(lds_, slot_); }
  /// All lanes of the wave have read the load.
  __device__ void release() {
    if (is_first_lane()) barriers_.empty[slot_].arrive();
    slot_ = slot_ + 1 == Ring::slots ? 0 : slot_ + 1;
    parity_ ^= slot_ == 0 ? 1 : 0;
  }

 private:
  __device__ static bool is_first_lane() { return static_cast<int>(threadIdx.x) % wave_lanes() == 0; }

  unsigned char* lds_;
  ring_barriers<Ring::slots>& barriers_;
  int group_;
  int slot_ = 0, parity_ = 0, turn_ = 0;
};

/// Brings the tiles: the work of `bringing_threads`, whole waves whose first thread is a multiple of them.
template <class Stored, class Key, class Value, int MaxDim>
class tile_bringer {
  using ring = tile_ring<Stored, Key, Value, MaxDim>;
  static constexpr int threads = bringing_threads;
  /// A thread brings a chunk in eight of some rows.
  static constexpr int rows_at_once = threads / swizzled_chunks;
  static constexpr int steps = ring_tile_keys / rows_at_once;
  static constexpr int max_bytes = MaxDim * static_cast<int>(sizeof(Stored));
  static constexpr int runs = swizzled_row_bytes(max_bytes) / swizzled_run_bytes;

 public:
  /// lds: as swizzled_lds is aligned.
  __device__ tile_bringer(unsigned char* lds, ring_barriers<ring::slots>& barriers, bool has_whole_vectors)
      : lds_(lds), barriers_(barriers), has_whole_vectors_(has_whole_vectors) {}

  /// Pages of the first tile of keys, for bring().
  __device__ std::int32_t first_pages(const sequence_pages& pages, std::int32_t live) const {
    return look_up(pages, live, 0);
  }
  /// The tiles of one sequence and head; `first`: first_pages() of them. `live`, above 0: keys from there on are never
  /// read, and are zeros in LDS. A load is finished when the next one is on its way, be it of the next call. Calls
  /// ahead() early on, once: time to find what the next call is to bring.
  template <class Ahead>
  __device__ __forceinline__ void bring(const group_source<Stored>& k, const group_source<Stored>& v,
                                        const sequence_pages& pages, std::int32_t live, std::int32_t first,
                                        Ahead ahead) {
    pages_ = pages, live_ = live;
    const std::int32_t tiles = (live_ + ring_tile_keys - 1) / ring_tile_keys;
    std::int32_t page_of_keys = first, page_of_values = 0;
    for (std::int32_t tile = 0; tile <= tiles; ++tile) {
      if constexpr (!ring::widens_keys) wait_for_slot();
      const bool has_keys = tile < tiles, has_values = tile > 0;
      if (has_keys) load(k, tile, page_of_keys, place_of<false>(loads_));
      if (has_values) load(v, tile - 1, page_of_values, place_of<true>(loads_));
      platform::commit_copies();
      page_of_values = page_of_keys;
      page_of_keys = look_up(pages_, live_, tile + 1);
      if (loads_ > 0) finish<1>();
      ++loads_;
      key_row_bytes_ = has_keys ? k.row_bytes : 0;
      value_row_bytes_ = has_values ? v.row_bytes : 0;
      if (tile == 1) ahead();
    }
  }
  /// Finishes the last load.
  __device__ __forceinline__ void end() {
    if (loads_ > 0) finish<0>();
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x) % threads; }
  __device__ static int chunk() { return thread() % swizzled_chunks; }
  __device__ static int row_of(int step) { return thread() / swizzled_chunks + step * rows_at_once; }
  /// The rows of a step follow each other in one page.
  __device__ static bool steps_are_in(const sequence_pages& pages) { return pages.page_size % rows_at_once == 0; }

  /// Where the thread's first chunk of a load goes. Codes go where no other thread reads them.
  template <bool IsValues>
  __device__ unsigned char* place_of(std::int32_t load) const {
    if constexpr (IsValues ? ring::widens_values : ring::widens_keys)
      return (IsValues ? ring::codes_of_values(lds_, load) : ring::codes_of_keys(lds_, load)) + thread() * chunk_bytes;
    else
      return (IsValues ? ring::values(lds_, slot_) : ring::keys(lds_, slot_)).chunk(row_of(0), chunk());
  }

  /// For the next load of which something is stored to strips.
  __device__ void wait_for_slot() {
    slot_ = slot_ + 1 == ring::slots ? 0 : slot_ + 1;
    parity_ ^= slot_ == 0 ? 1 : 0;
    barriers_.empty[slot_].wait(parity_);
  }

  /// Of the loads that are not finished the oldest one, of which there are Pending + 1.
  template <int Pending>
  __device__ __forceinline__ void finish() {
    platform::wait_for_copies<Pending>();
    if constexpr (ring::widens_keys) {
      wait_for_slot();
      widen<Key>(key_row_bytes_, place_of<false>(loads_ - 1), ring::keys(lds_, full_slot_));
    }
    if constexpr (ring::widens_values)
      widen<Value>(value_row_bytes_, place_of<true>(loads_ - 1), ring::values(lds_, full_slot_));
    platform::publish_lds();
    barriers_.full[full_slot_].arrive();
    full_slot_ = full_slot_ + 1 == ring::slots ? 0 : full_slot_ + 1;
  }

  /// The page of the tile's step of the lane, lane % steps: it has come when the tile is loaded.
  __device__ static std::int32_t look_up(const sequence_pages& pages, std::int32_t live, std::int32_t tile) {
    const std::int32_t key = tile * ring_tile_keys + thread() % steps * rows_at_once;
    return steps_are_in(pages) && key < live ? page_of(pages, key) : 0;
  }
  __device__ static std::int32_t page_of(const sequence_pages& pages, std::int32_t key) {
    return pages.entries[static_cast<std::uint32_t>(pages.by_page_size.quotient(key))];
  }

  __device__ __forceinline__ void load(const group_source<Stored>& from, std::int32_t tile, std::int32_t page,
                                       unsigned char* to) const {
    const auto* const data = reinterpret_cast<const unsigned char*>(from.pool.data) + chunk() * chunk_bytes;
    // Apart from the outside on: most tiles need no test of each chunk.
    if (steps_are_in(pages_) && has_whole_vectors_) {
      // Each lane finds where a step begins, for all of them.
      const std::int32_t key = tile * ring_tile_keys + thread() % steps * rows_at_once;
      const std::uint64_t of_step = row_offset(from, page, pages_.slot_of(key));
      const unsigned char* const own = data + row_offset(from, 0, row_of(0));
      const auto source = [&](int step) { return own + __shfl(of_step, step, steps); };
      if (from.row_bytes == max_bytes && (tile + 1) * ring_tile_keys <= live_)
        load<true, true>(from, tile, source, to);
      else
        load<true, false>(from, tile, source, to);
    } else {
      const auto source = [&](int step) {
        const std::int32_t key = tile * ring_tile_keys + row_of(step);
        return data + (key < live_ ? row_offset(from, page_of(pages_, key), pages_.slot_of(key)) : 0);
      };
      load<false, false>(from, tile, source, to);
    }
  }
  /// IsWhole: 16 bytes at a time; IsFull: all keys are live, and rows have max_bytes. Behind a row's bytes zeros are
  /// stored, as far as they are copied.
  template <bool IsWhole, bool IsFull, class Source>
  __device__ __forceinline__ void load(const group_source<Stored>& from, std::int32_t tile, Source source_of_step,
                                       unsigned char* first) const {
    const platform::lds_place base = platform::place_in_lds(first);
    ASSAY_UNROLL
    for (int i = 0; i < steps; ++i) {
      const bool is_live = IsFull || tile * ring_tile_keys + row_of(i) < live_;
      const unsigned char* const source = source_of_step(i);
      ASSAY_UNROLL
      for (int run = 0; run < runs; ++run) {
        const int byte = run * swizzled_run_bytes + own_byte();
        if (!(IsFull && max_bytes % swizzled_run_bytes == 0) && byte >= from.copied_bytes) continue;
        const bool is_there = IsFull || (is_live && byte < from.row_bytes);
        const unsigned char* const at = source + run * swizzled_run_bytes;
        // Rows lie a multiple of eight apart: the swizzle is that of the first.
        const platform::lds_place place = base + run * ring::strip_bytes + i * rows_at_once * swizzled_run_bytes;
        if constexpr (IsWhole) {
          platform::begin_copy<16>(place, at, is_there);
        } else {
          platform::begin_copy<8>(place, at, is_there);
          platform::begin_copy<8>(place + 8, at + 8, is_there);
        }
      }
    }
  }
  __device__ static int own_byte() { return chunk() * chunk_bytes; }
  /// In bytes.
  __device__ static std::uint64_t row_offset(const group_source<Stored>& from, std::int32_t page, std::int32_t slot) {
    return static_cast<std::uint64_t>(from.pool.row_offset(page, slot)) * sizeof(Stored);
  }
  /// The thread's codes, which are two chunks each in LDS. The upper half of a row, in another strip, begins with the
  /// second of them: so the eight threads of a row write to all banks.
  template <class Element>
  __device__ __forceinline__ void widen(int row_bytes, const unsigned char* codes_of_thread,
                                        const swizzled_strips& to) const {
    if (own_byte() >= row_bytes) return;
    const int second = chunk() / (swizzled_chunks / 2);
    unsigned char* const places[2] = {to.chunk(row_of(0), 2 * chunk() + second),
                                      to.chunk(row_of(0), 2 * chunk() + 1 - second)};
    ASSAY_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int step_bytes = i * rows_at_once * swizzled_run_bytes;
      const uint4 codes = *reinterpret_cast<const uint4*>(codes_of_thread + step_bytes);
      uint4 wide[2];
      widen_chunk<Stored, Element>(wide, second != 0 ? make_uint4(codes.z, codes.w, codes.x, codes.y) : codes);
      ASSAY_UNROLL
      for (int half = 0; half < 2; ++half) *reinterpret_cast<uint4*>(places[half] + step_bytes) = wide[half];
    }
  }

  unsigned char* lds_;
  ring_barriers<ring::slots>& barriers_;
  bool has_whole_vectors_;
  sequence_pages pages_ = {};
  std::int32_t live_ = 0;
  int slot_ = ring::slots - 1, parity_ = 0;      ///< that was waited for last
  int full_slot_ = 0;                            ///< that is finished next
  std::int32_t loads_ = 0;                       ///< begun
  int key_row_bytes_ = 0, value_row_bytes_ = 0;  ///< of the load begun last; 0: it has none
};

#endif

}  // namespace assay::device
