/// Where append_kv's rows go in a case: problem.hpp has slots, a case has sequences and their pages.
#pragma once

#include <cstdint>

#include "properties/case/case.hpp"

namespace assay {

/// The slot of the key that row `row` of the sequence becomes; -1 where the row is skipped.
std::int64_t slot_of(const attention_case& c, const sequence& s, std::int64_t row);

/// Rows of rope_cos and rope_sin: one for each position of the longest sequence.
std::int64_t rope_rows(const attention_case& c);

}  // namespace assay
