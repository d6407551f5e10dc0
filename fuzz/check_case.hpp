/// The check of the targets whose inputs are cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/case/case.hpp"

namespace assay::fuzz {

/// Runs the case with all checks and reports a failure.
void check_case(const attention_case& c);

/// Checks the case of this kernel that the bytes encode.
void check_bytes(std::span<const std::uint8_t> bytes, const std::string& kernel);

}  // namespace assay::fuzz
