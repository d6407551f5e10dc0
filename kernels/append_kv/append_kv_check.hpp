/// What the rows of an append_kv call must be, and only their tensors can tell: checked on the device, where they live.
#pragma once

#include <cstdint>

#include "kernels/library.h"

namespace assay {

inline constexpr int append_check_threads = 256;

enum class row_fault : std::int32_t { nothing, slot_past_pool, position_outside, slot_taken };

/// The first faulty row of those that a block looks at.
struct row_finding {
  row_fault fault;
  std::int32_t row;
  std::int32_t other;     ///< slot_taken: the first row that writes the same slot
  std::int32_t position;  ///< position_outside
  std::int64_t slot;
};

struct append_check_arguments {
  const std::int64_t* slots;
  const std::int32_t* positions;  ///< null without rotary
  std::int64_t pool_slots;
  std::int64_t rope_rows;
  std::int32_t rows;
  row_finding* findings;  ///< one for each block: see append_check_blocks
};

std::int64_t append_check_blocks(std::int32_t rows);

/// Launches the check; errors come by hipGetLastError.
void launch_append_check(const append_check_arguments& arguments);

/// ASSAY_OK, or ASSAY_REJECTED with a message that names the first faulty row. Waits for the device. `findings` of
/// `arguments` is set here; `page_size` is for the message.
assay_status check_append_rows(append_check_arguments arguments, std::int32_t page_size);

}  // namespace assay
