/// Arguments and launches of the append_kv kernels. kernels/append_kv/append_kv_kernel.hpp copies and quantises rows;
/// kernels/append_kv/append_kv_pages.hpp does so where each page has its own descale.
#pragma once

#include <cstdint>

#include "kernels/device/divisor.hpp"
#include "kernels/device/quotient.hpp"
#include "kernels/host/device_tensor.hpp"
#include "kernels/problem.hpp"

namespace assay {

inline constexpr int append_threads = 256;
/// Rows of which a thread has a vector on its way at a time, at the least.
inline constexpr int append_least_rows_in_flight = 3;
inline constexpr int append_page_threads = 128;

/// Slots that a thread compares between two barriers when it looks for an earlier row of its page.
inline constexpr int append_slots_in_flight = 8;

/// Slots of a page whose rows are known at a time. Pages of more slots are done in several turns.
inline constexpr int append_tile_slots = 1024;

/// Calls of more rows have a block do all heads of a page: then finding the page's rows would cost more than the heads
/// save.
inline constexpr int append_rows_by_head = 256;

/// Vectors of eight of a row, K's and V's. append_tile_slots times that many are counted in 32 bits.
inline constexpr std::int64_t append_max_row_vectors = std::int64_t{1} << 20;

/// K's or V's half of the work.
struct append_kv_side {
  device_tensor rows;     ///< k_new or v_new
  device_tensor pool;     ///< k or v
  device_tensor descale;  ///< of a page and head; no data where the whole pool has `scale`
  std::int32_t head_dim;
  std::int32_t rows_aligned;  ///< 1: each head of each new row starts at a multiple of 16 bytes
  device::float_quotient scale;
  // One descale for the pool:
  std::int64_t page_gap;  ///< elements from a page's end, where slots go on as they lie in it, to the next one
  std::int32_t parts;     ///< vectors of eight that a thread takes together: 2 of codes that are not rotated, where 16
                          ///< bytes are whole
  std::int32_t items;     ///< such parts of a row, all heads
  device::divisor head_items;   ///< ... of a head
  device::divisor row_threads;  ///< threads of a block that take a row together
  std::int32_t num_row_threads;
  std::int32_t rows_at_once;  ///< how often they fit into a block
};

/// Everything a block needs to know.
struct append_kv_arguments {
  append_kv_side k, v;
  const std::int64_t* slots;
  const std::int32_t* positions;  ///< these five: rotary only
  const float* rope_cos;
  const float* rope_sin;
  std::int64_t cos_stride, sin_stride;
  std::int32_t rope_aligned;  ///< 1: the rows of both tables start at multiples of 16 bytes
  rotary_kind rotary;
  std::int32_t rows;
  std::int32_t heads;
  std::int32_t page_size;
  device::wide_divisor page_slots;  ///< by page_size
  std::int32_t divides;             ///< 1: a scale is none that float_quotient takes
  std::int32_t heads_per_block;     ///< descales of pages
  const std::uint32_t* wrong_row;   ///< what the check found, once it is done: append_no_row, or the call is refused
};

/// Launches the kernel for one pair of types; errors come by hipGetLastError. Only 8-bit caches have descales of pages.
using append_kv_launcher = void (*)(const append_kv_arguments& arguments);

void launch_append_kv_f16(const append_kv_arguments& arguments);
void launch_append_kv_bf16(const append_kv_arguments& arguments);
void launch_append_kv_f16_e4m3fn(const append_kv_arguments& arguments);
void launch_append_kv_f16_e4m3fnuz(const append_kv_arguments& arguments);
void launch_append_kv_bf16_e4m3fn(const append_kv_arguments& arguments);
void launch_append_kv_bf16_e4m3fnuz(const append_kv_arguments& arguments);

}  // namespace assay
