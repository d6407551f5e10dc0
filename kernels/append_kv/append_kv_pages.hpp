/// append_kv with a descale for each page and head. Of the blocks of the rows that go to a page, that of the first row
/// does the page: it finds the new descale among all of those rows, moves the page's other codes to it, and writes the
/// new ones. The other blocks leave. So each store has one thread, without atomics, and all bits are the same in every
/// order of blocks.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/append_kv/append_kv_codes.hpp"
#include "kernels/append_kv/append_kv_rows.hpp"

namespace assay {

/// LDS of a block.
struct append_page_lds {
  std::int32_t row_of[append_tile_slots];  ///< the row that goes to each slot of the tile at work, or -1
  float maxima[append_page_threads / 32];
};

/// The largest value of the block's threads, which are all to call this. A maximum does not depend on the order.
__device__ inline float block_maximum(append_page_lds& lds, float value) {
  for (int mask = 16; mask > 0; mask /= 2) value = device::max_of(value, __shfl_xor(value, mask, 32));
  if (threadIdx.x % 32 == 0) lds.maxima[threadIdx.x / 32] = value;
  __syncthreads();
  for (const float other : lds.maxima) value = device::max_of(value, other);
  __syncthreads();
  return value;
}

/// How far a slot lies behind `start`. Those before it, and negative ones, wrap to more than a pool has slots: a pool's
/// end is below 2^63 bytes, and no memory is as large as half of that.
__device__ inline std::uint64_t slots_behind(std::int64_t start, std::int64_t slot) {
  return static_cast<std::uint64_t>(slot) - static_cast<std::uint64_t>(start);
}

/// Whether a row before the block's own goes to the same page; the same for all threads.
__device__ inline bool has_earlier_row(const append_kv_arguments& a, append_page_lds& lds, std::int64_t row,
                                       std::int64_t page_start) {
  const auto size = static_cast<std::uint64_t>(a.page_size);
  for (std::int64_t end = row; end > 0; end -= append_slots_in_flight * append_page_threads) {
    bool is_here = false;
    ASSAY_UNROLL
    for (int i = 0; i < append_slots_in_flight; ++i) {
      const std::int64_t other = end - 1 - i * append_page_threads - threadIdx.x;
      is_here |= other >= 0 && slots_behind(page_start, a.slots[other]) < size;
    }
    if (block_maximum(lds, is_here ? 1.0F : 0.0F) > 0.0F) return true;
  }
  return false;
}

/// A page of the pools on its way to new descales.
template <class New, class Stored>
class page_update {
 public:
  __device__ page_update(const append_kv_arguments& a, append_page_lds& lds, std::int64_t row, std::int64_t slot)
      : a_(a), lds_(lds), side_(is_k() ? a.k : a.v), row_(row), page_(page_of(a, slot)) {}

  __device__ bool is_first_row() const { return !has_earlier_row(a_, lds_, row_, start()); }

  /// One head. `lds.row_of` holds the first tile before, and again after if there is no other one.
  __device__ void run(int head) const {
    const bool is_fresh = lds_.row_of[0] >= 0;
    float* const descale =
        static_cast<float*>(side_.descale.data) + page_ * side_.descale.stride[0] + head * side_.descale.stride[1];
    // A fresh page's descale is dead and may be NaN. 2^-64 takes its place: the least that problem.hpp allows.
    const float before = is_fresh ? 0x1p-64F : *descale;
    float largest = 0.0F;
    for (std::int64_t first = 0; first < a_.page_size; first += append_tile_slots) {
      if (first > 0) find_rows(first);
      largest = device::max_of(largest, largest_new(first, head));
    }
    const float after = device::max_of(before, block_maximum(lds_, largest) / largest_value<Stored>);
    const bool rescales = !is_fresh && after > before;
    for (std::int64_t first = 0; first < a_.page_size; first += append_tile_slots) {
      if (has_tiles()) find_rows(first);
      store_codes(first, head, after, rescales, before / after);
    }
    // All threads have read it: there are barriers in block_maximum.
    if (threadIdx.x == 0 && (is_fresh || rescales)) *descale = after;
  }

  __device__ bool has_tiles() const { return a_.page_size > append_tile_slots; }

  /// Fills `lds.row_of` for the tile of slots that starts at `first`. No row before the block's own is of the page.
  __device__ void find_rows(std::int64_t first) const {
    const int threads = append_page_threads, self = static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int slot = self; slot < append_tile_slots; slot += threads) lds_.row_of[slot] = -1;
    __syncthreads();
    const auto slots = static_cast<std::uint64_t>(tile_slots(first));
    for (std::int64_t row = row_ + self; row < a_.rows; row += threads) {
      const std::uint64_t slot = slots_behind(start() + first, a_.slots[row]);
      if (slot < slots) lds_.row_of[slot] = static_cast<std::int32_t>(row);
    }
    __syncthreads();
  }

 private:
  __device__ static bool is_k() { return blockIdx.z == 0; }
  __device__ std::int64_t start() const { return page_ * a_.page_size; }
  __device__ int vectors() const { return side_.head_dim / device::vector_elements; }
  __device__ int tile_slots(std::int64_t first) const {
    return static_cast<int>(device::min_of<std::int64_t>(append_tile_slots, a_.page_size - first));
  }

  __device__ eight_floats load_row(std::int64_t row, int head, int vector) const {
    const row_vector at{row, head, vector, is_k()};
    return value_of<New>(a_, at, load_new<New>(a_, at));
  }

  /// Of this thread's part of the tile's new rows.
  __device__ float largest_new(std::int64_t first, int head) const {
    const int items = tile_slots(first) * vectors();
    float largest = 0.0F;
    for (int item = static_cast<int>(threadIdx.x); item < items; item += append_page_threads) {
      const std::int32_t row = lds_.row_of[item / vectors()];
      if (row < 0) continue;
      const eight_floats own = load_row(row, head, item % vectors());
      for (const float x : own.x) largest = device::max_of(largest, fabsf(x));
    }
    return largest;
  }

  __device__ void store_codes(std::int64_t first, int head, float descale, bool rescales, float ratio) const {
    const int items = tile_slots(first) * vectors();
    for (int item = static_cast<int>(threadIdx.x); item < items; item += append_page_threads) {
      const int slot = item / vectors(), vector = item % vectors();
      const std::int32_t row = lds_.row_of[slot];
      if (row < 0 && !rescales) continue;
      Stored* const codes = pool_vector<Stored>(side_, {page_, first + slot}, head, vector);
      if (row >= 0)
        device::store8(codes, quantise8<Stored>(load_row(row, head, vector), division_by{descale}));
      else
        device::store8(codes, rescale8<Stored>(device::load8(codes), ratio));
    }
  }

  const append_kv_arguments& a_;
  append_page_lds& lds_;
  const append_kv_side& side_;
  std::int64_t row_, page_;
};

template <class New, class Stored>
__global__ void __launch_bounds__(append_page_threads) append_pages_block(append_kv_arguments a) {
  __shared__ append_page_lds lds;
  const std::int64_t row = blockIdx.x, slot = a.slots[row];
  if (has_wrong_row(a) || slot < 0) return;
  const page_update<New, Stored> page(a, lds, row, slot);
  if (!page.is_first_row()) return;
  const int first = static_cast<int>(blockIdx.y) * a.heads_per_block;
  const int end = device::min_of(first + a.heads_per_block, a.heads);
  for (int head = first; head < end; ++head) {
    if (head == first || page.has_tiles()) page.find_rows(0);
    page.run(head);
  }
}

template <class New, class Stored>
void launch_append_pages(const append_kv_arguments& arguments) {
  void (*const append_kv_pages)(append_kv_arguments) = append_pages_block<New, Stored>;
  const int groups = (arguments.heads + arguments.heads_per_block - 1) / arguments.heads_per_block;
  const dim3 blocks(static_cast<unsigned int>(arguments.rows), static_cast<unsigned int>(groups), 2);
  ASSAY_LAUNCH_BEHIND(append_kv_pages, blocks, dim3(append_page_threads), arguments);
}

}  // namespace assay
