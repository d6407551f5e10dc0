/// The story of one logit of mqa_logits, as text.
#pragma once

#include <string>

#include "properties/run/execute.hpp"

namespace assay {

/// Sequence, row, key with page, slot and scale, and the heads that add most; for a hidden column, why it is hidden.
std::string logit_lines(const detailed_run& run, std::int64_t row, std::int64_t column);

}  // namespace assay
