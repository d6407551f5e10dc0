/// Checks of single fields.
#pragma once

#include <cstdint>
#include <string>

#include "properties/case/case.hpp"

namespace assay {

/// Throws case_error: "field: what".
[[noreturn]] void refuse(const std::string& field, const std::string& what);

/// Refuses a value outside [lo, hi].
void check_range(const std::string& field, std::int64_t value, std::int64_t lo, std::int64_t hi);

/// Refuses fields of mqa_logits (columns, key order, splits of contexts), and of append_kv (rotary).
void refuse_mqa_fields(const attention_case& c);
void refuse_append_fields(const attention_case& c);

}  // namespace assay
