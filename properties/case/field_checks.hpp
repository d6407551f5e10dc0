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

}  // namespace assay
