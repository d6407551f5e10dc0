/// append_kv with one scale for the pool, or none: a thread takes eight elements of a new row to their slot. Rows lie
/// one behind the other in the threads of a block, so that neighbouring threads read and write neighbouring vectors.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/append_kv/append_kv_codes.hpp"
#include "kernels/append_kv/append_kv_pages.hpp"
#include "kernels/append_kv/append_kv_rows.hpp"

namespace assay {

/// Vector `at` of the heads of a row, all heads of K or of V counted through.
template <class New, class Stored>
__device__ inline void append_vector(const append_kv_arguments& a, bool is_k, std::int64_t row, std::int64_t slot,
                                     int at) {
  const append_kv_side& side = is_k ? a.k : a.v;
  const int vectors = side.head_dim / device::vector_elements, head = at / vectors, vector = at % vectors;
  Stored* const to = pool_vector<Stored>(side, place_of(slot, a.page_size), head, vector);
  if constexpr (is_code<Stored>) {
    device::store8(to, quantise8<Stored>(load_row<New>(a, is_k, row, head, vector), side.scale));
  } else if (is_k && a.rotary != rotary_kind::none) {
    device::store8(to, round8<Stored>(load_row<New>(a, is_k, row, head, vector)));
  } else {
    const New* const from = new_head<New>(side, row, head) + vector * device::vector_elements;
    device::store8(to, load_bits(from, side.rows_aligned != 0));  // no arithmetic: the same bits
  }
}

template <class New, class Stored>
__global__ void __launch_bounds__(append_threads) append_rows_block(append_kv_arguments a) {
  const int k_vectors = a.heads * (a.k.head_dim / device::vector_elements);
  const int row_vectors = k_vectors + a.heads * (a.v.head_dim / device::vector_elements);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * a.rows_per_block;
  const int items = a.rows_per_block * row_vectors;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += append_threads) {
    const std::int64_t row = first + item / row_vectors;
    if (row >= a.rows) break;
    const std::int64_t slot = a.slots[row];
    if (slot < 0) continue;
    const int at = item % row_vectors;
    const bool is_k = at < k_vectors;
    append_vector<New, Stored>(a, is_k, row, slot, is_k ? at : at - k_vectors);
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
  const std::int64_t blocks = (std::int64_t{arguments.rows} + arguments.rows_per_block - 1) / arguments.rows_per_block;
  hipLaunchKernelGGL(append_kv, dim3(static_cast<unsigned int>(blocks)), dim3(append_threads), 0, nullptr, arguments);
}

}  // namespace assay
