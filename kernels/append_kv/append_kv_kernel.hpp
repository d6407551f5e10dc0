/// append_kv with one scale for the pool, or none: a thread takes vectors of eight elements of new rows to their
/// slots. Rows lie one behind the other in the threads of a block, so that neighbours read and write neighbouring
/// vectors.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/append_kv/append_kv_codes.hpp"
#include "kernels/append_kv/append_kv_pages.hpp"
#include "kernels/append_kv/append_kv_rows.hpp"

namespace assay {

/// Vector number `item` of a row, whose K is followed by its V.
__device__ inline row_vector vector_of_row(const append_kv_arguments& a, std::int64_t row, int item) {
  const int k_vectors = a.k.head_dim / device::vector_elements, v_vectors = a.v.head_dim / device::vector_elements;
  const bool is_k = item < a.heads * k_vectors;
  const int at = is_k ? item : item - a.heads * k_vectors, vectors = is_k ? k_vectors : v_vectors;
  return {row, at / vectors, at % vectors, is_k};
}

template <class New, class Stored>
__device__ inline void store_row(const append_kv_arguments& a, const row_vector& from, std::int64_t slot,
                                 const device::packed<2>& loaded) {
  const append_kv_side& side = from.is_k ? a.k : a.v;
  Stored* const to = pool_vector<Stored>(side, place_of(slot, a.page_size), from.head, from.vector);
  if constexpr (is_code<Stored>)
    device::store8(to, quantise8<Stored>(value_of<New>(a, from, loaded), side.scale));
  else if (from.is_k && a.rotary != rotary_kind::none)
    device::store8(to, round8<Stored>(value_of<New>(a, from, loaded)));
  else
    device::store8(to, loaded);  // no arithmetic: the same bits
}

template <class New, class Stored>
__global__ void __launch_bounds__(append_threads) append_rows_block(append_kv_arguments a) {
  constexpr int in_flight = append_rows_in_flight;
  const int row_vectors = a.heads * ((a.k.head_dim + a.v.head_dim) / device::vector_elements);
  const int lane = static_cast<int>(threadIdx.x) / a.row_threads;
  if (lane >= a.rows_at_once) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * a.rows_at_once * in_flight + lane;
  for (int item = static_cast<int>(threadIdx.x) % a.row_threads; item < row_vectors; item += a.row_threads) {
    row_vector from = vector_of_row(a, first, item);
    std::int64_t slots[in_flight];
    device::packed<2> loaded[in_flight];
    // Of skipped rows too: that costs less than to wait for the slot before each load.
    ASSAY_UNROLL
    for (int i = 0; i < in_flight; ++i) {
      from.row = first + i * a.rows_at_once;
      slots[i] = -1;
      if (from.row >= a.rows) continue;
      slots[i] = a.slots[from.row];
      loaded[i] = load_new<New>(a, from);
    }
    if (has_wrong_row(a)) return;
    ASSAY_UNROLL
    for (int i = 0; i < in_flight; ++i) {
      if (slots[i] < 0) continue;
      from.row = first + i * a.rows_at_once;
      store_row<New, Stored>(a, from, slots[i], loaded[i]);
    }
  }
}

template <class New, class Stored>
void launch_append_kv(const append_kv_arguments& arguments) {
  if constexpr (is_code<Stored>) {
    if (arguments.k.descale.data != nullptr) {
      launch_append_pages<New, Stored>(arguments);
      return;
    }
  }
  void (*const append_kv)(append_kv_arguments) = append_rows_block<New, Stored>;  // the name that the platform reports
  const std::int64_t block_rows = std::int64_t{arguments.rows_at_once} * append_rows_in_flight;
  const std::int64_t blocks = (arguments.rows + block_rows - 1) / block_rows;
  ASSAY_LAUNCH_BEHIND(append_kv, dim3(static_cast<unsigned int>(blocks)), dim3(append_threads), arguments);
}

}  // namespace assay
