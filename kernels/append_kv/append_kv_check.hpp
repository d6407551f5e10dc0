/// What the rows of an append_kv call must be, and only their tensors can tell: checked on the device, where they live,
/// in the stream's order. The append kernel, which follows, leaves where a row is wrong; the host asks later.
///
/// The call's workspace holds a header, which names the lowest wrong row, and a table of the slots that rows have.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/library.h"

namespace assay {

/// No row: what the header holds where no row is wrong, and a free entry of the table. Rows are below 2^31.
inline constexpr std::uint32_t append_no_row = 0xFFFFFFFF;

inline constexpr std::int64_t append_header_bytes = 32;
inline constexpr std::int64_t append_workspace_alignment = 16;

/// Entries of the table that lie together in memory, for slots that do.
inline constexpr std::uint32_t append_bucket_entries = 8;

/// The table has 2^bits entries, at least twice as many as rows: at most half of them are taken, and each search ends
/// at a free one. 4 to 32, as there are less than 2^31 rows.
constexpr int append_table_bits(std::int32_t rows) {
  int bits = 4;
  while (std::int64_t{1} << bits < 2 * std::int64_t{rows}) ++bits;
  return bits;
}

/// Of a call of so many rows: a multiple of 16, at most 2^34 + 32. It needs no limit of its own: but for calls of a few
/// rows it is at most 16 bytes a row, and the smallest new row has 32.
constexpr std::int64_t append_workspace_bytes(std::int32_t rows) {
  constexpr auto entry_bytes = static_cast<std::int64_t>(sizeof(std::uint32_t));
  return rows == 0 ? 0 : append_header_bytes + (entry_bytes << append_table_bits(rows));
}

/// Where the search for a slot, which is at least 0, begins. Neighbours in a pool are neighbours here, so that atomics
/// of a wave share sectors; the buckets of a table are hashed, by Fibonacci's multiplier.
__device__ __host__ inline std::uint32_t append_first_entry(std::int64_t slot, int table_bits) {
  const auto number = static_cast<std::uint64_t>(slot);
  const std::uint64_t hashed = number / append_bucket_entries * 0x9E3779B97F4A7C15U;
  const auto bucket = static_cast<std::uint32_t>(hashed >> (64 - table_bits + 3));
  return bucket * append_bucket_entries + static_cast<std::uint32_t>(number % append_bucket_entries);
}

struct append_check_arguments {
  const std::int64_t* slots;
  const std::int32_t* positions;  ///< null without rotary
  std::int64_t pool_slots;
  std::int64_t rope_rows;
  std::uint32_t* workspace;  ///< append_workspace_bytes(rows), with any contents
  std::int32_t rows;         ///< at least 1
  std::int32_t table_bits;
};

/// Enqueues the check, whose result the workspace's first word is: the lowest wrong row, or append_no_row. Errors come
/// by hipGetLastError.
void launch_append_check(const append_check_arguments& arguments);

/// ASSAY_OK, or ASSAY_REJECTED with a message that names the lowest wrong row. Waits for the stream of the call, on
/// which the check was enqueued. `page_size` is for the message.
assay_status tell_append_check(const append_check_arguments& arguments, std::int32_t page_size);

}  // namespace assay
