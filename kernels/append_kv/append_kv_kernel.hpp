/// append_kv with one scale for the pool, or none: a thread takes the same vectors of eight elements of several new
/// rows to their slots. Rows lie one behind the other in the threads of a block, so that neighbours read and write
/// neighbouring vectors. K and V have blocks of their own.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/append_kv/append_kv_codes.hpp"
#include "kernels/append_kv/append_kv_pages.hpp"
#include "kernels/append_kv/append_kv_rows.hpp"

namespace assay {

/// What is done with elements on their way: known to the compiler, since most calls have nothing but copies.
enum class row_work { none, rotate, divide, rotate_and_divide };

constexpr bool rotates(row_work work) {
  return work == row_work::rotate || work == row_work::rotate_and_divide;
}
/// Whether the quotient of codes is a division: see float_quotient.
constexpr bool divides(row_work work) {
  return work == row_work::divide || work == row_work::rotate_and_divide;
}

/// Blocks that a compute unit is to hold: more of them wait for memory at once, each with fewer registers, but with no
/// spill.
template <class New, class Stored>
constexpr int append_blocks_of_unit(row_work work) {
  if (rotates(work)) return 2;
  if (divides(work)) return 3;
  if (!is_code<Stored>) return 6;
  return std::is_same_v<New, device::bf16> ? 4 : 3;  // f16 is widened by more registers
}

/// Rows of which a thread has a vector on its way at a time: one alone leaves memory waiting for its slot's number.
/// Where elements are only copied, four rows take up to 64 registers. A compute unit that has fewer for a thread of six
/// blocks takes three rows: by five blocks with four rows an H200 copies more slowly.
template <class New, class Stored>
constexpr int append_rows_in_flight(row_work work) {
  if (is_code<Stored> || rotates(work)) return 4;
  constexpr int threads = append_blocks_of_unit<New, Stored>(row_work::none) * append_threads;
  return platform::registers_of_unit / threads >= 64 ? 4 : append_least_rows_in_flight;
}

template <class New, class Stored, row_work Work>
inline constexpr int append_bound = platform::bound_of_blocks(append_blocks_of_unit<New, Stored>(Work), append_threads);

/// The vectors of a thread: of several rows the same ones. `Parts` of them lie side by side in a head.
template <class New, class Stored, row_work Work, int Parts>
class rows_of_thread {
 public:
  static constexpr int rows = append_rows_in_flight<New, Stored>(Work);

  __device__ rows_of_thread(const append_kv_arguments& a, const append_kv_side& side, int item)
      : a_(a), side_(side), head_(side.head_items.quotient(item)) {
    vector_ = (item - head_ * (side.head_dim / (Parts * device::vector_elements))) * Parts;
  }

  /// Of skipped rows too: that costs less than to wait for the slot before each load. Behind the last row it loads that
  /// one again: no load has a condition, and all are on their way at once.
  template <bool Aligned>
  __device__ void load(std::int64_t first) {
    const std::int64_t last = a_.rows - 1, start = device::min_of(first, last);
    const auto most = static_cast<std::int32_t>(last - start);
    const New* const from = new_head<New>(side_, start, head_) + vector_ * device::vector_elements;
    const std::int64_t* const slots = a_.slots + start;
    ASSAY_UNROLL
    for (int i = 0; i < rows; ++i) {
      const std::int32_t behind = device::min_of(i * side_.rows_at_once, most);
      slots_[i] = slots[behind];
      if (first + i * side_.rows_at_once > last) slots_[i] = -1;
      ASSAY_UNROLL
      for (int part = 0; part < Parts; ++part)
        loaded_[i][part] = load_bits(from + behind * side_.rows.stride[0] + part * device::vector_elements, Aligned);
    }
  }

  __device__ void store(std::int64_t first, bool is_k) const {
    Stored* const pool = first_vector<Stored>(side_, head_, vector_);
    ASSAY_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (slots_[i] < 0) continue;
      store_row(pool + slot_offset(a_, side_, slots_[i]), i, first + i * side_.rows_at_once, is_k);
    }
  }

 private:
  __device__ void store_row(Stored* to, int i, std::int64_t row, bool is_k) const {
    if constexpr (is_code<Stored>) {
      device::packed<1> codes[Parts];
      ASSAY_UNROLL
      for (int part = 0; part < Parts; ++part) codes[part] = quantise(value(i, part, row, is_k));
      if constexpr (Parts == 2)
        *reinterpret_cast<uint4*>(to) = make_uint4(codes[0].bits.x, codes[0].bits.y, codes[1].bits.x, codes[1].bits.y);
      else
        device::store8(to, codes[0]);
    } else {
      if (rotates(Work) && is_k)
        device::store8(to, round8<Stored>(value(i, 0, row, is_k)));
      else
        device::store8(to, loaded_[i][0]);  // no arithmetic: the same bits
    }
  }

  __device__ device::packed<1> quantise(const eight_floats& from) const {
    if constexpr (divides(Work))
      return quantise8<Stored>(from, division_by{side_.scale.divisor});
    else
      return quantise8<Stored>(from, side_.scale);
  }

  __device__ eight_floats value(int i, int part, std::int64_t row, bool is_k) const {
    if constexpr (rotates(Work))
      return value_of<New>(a_, {row, head_, vector_ + part, is_k}, loaded_[i][part]);
    else
      return to_floats<New>(loaded_[i][part]);
  }

  const append_kv_arguments& a_;
  const append_kv_side& side_;
  int head_, vector_ = 0;
  std::int64_t slots_[rows];
  device::packed<2> loaded_[rows][Parts];
};

template <class New, class Stored, row_work Work, int Parts>
__device__ inline void append_rows(const append_kv_arguments& a, const append_kv_side& side, bool is_k) {
  const int self = static_cast<int>(threadIdx.x), lane = side.row_threads.quotient(self);
  if (lane >= side.rows_at_once) return;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * side.rows_at_once * append_rows_in_flight<New, Stored>(Work) + lane;
  for (int item = self - lane * side.num_row_threads; item < side.items; item += side.num_row_threads) {
    rows_of_thread<New, Stored, Work, Parts> vectors(a, side, item);
    if (side.rows_aligned != 0)
      vectors.template load<true>(first);
    else
      vectors.template load<false>(first);
    if (has_wrong_row(a)) return;
    vectors.store(first, is_k);
  }
}

template <class New, class Stored, row_work Work>
__global__ void __launch_bounds__(append_threads, (append_bound<New, Stored, Work>))
    append_rows_block(append_kv_arguments a) {
  const bool is_k = blockIdx.y == 0;
  const append_kv_side& side = is_k ? a.k : a.v;
  if constexpr (is_code<Stored> && !rotates(Work))
    if (side.parts == 2) return append_rows<New, Stored, Work, 2>(a, side, is_k);
  append_rows<New, Stored, Work, 1>(a, side, is_k);
}

template <class New, class Stored, row_work Work>
std::int64_t append_rows_blocks(const append_kv_side& side, std::int32_t rows) {
  const std::int64_t block_rows = std::int64_t{side.rows_at_once} * append_rows_in_flight<New, Stored>(Work);
  return (rows + block_rows - 1) / block_rows;
}

template <class New, class Stored, row_work Work>
void launch_append_rows(const append_kv_arguments& arguments) {
  void (*const append_kv)(append_kv_arguments) = append_rows_block<New, Stored, Work>;  // what the platform reports
  const std::int64_t blocks = std::max(append_rows_blocks<New, Stored, Work>(arguments.k, arguments.rows),
                                       append_rows_blocks<New, Stored, Work>(arguments.v, arguments.rows));
  ASSAY_LAUNCH_BEHIND(append_kv, dim3(static_cast<unsigned int>(blocks), 2), dim3(append_threads), arguments);
}

template <class New, class Stored>
void launch_append_kv(const append_kv_arguments& arguments) {
  const bool is_rotated = arguments.rotary != rotary_kind::none;
  if constexpr (is_code<Stored>) {
    if (arguments.k.descale.data != nullptr) return launch_append_pages<New, Stored>(arguments);
    if (arguments.divides != 0)
      return is_rotated ? launch_append_rows<New, Stored, row_work::rotate_and_divide>(arguments)
                        : launch_append_rows<New, Stored, row_work::divide>(arguments);
  }
  is_rotated ? launch_append_rows<New, Stored, row_work::rotate>(arguments)
             : launch_append_rows<New, Stored, row_work::none>(arguments);
}

}  // namespace assay
