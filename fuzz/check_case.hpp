/// The check of the targets whose inputs are cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/case/case.hpp"

namespace assay::fuzz {

/// Runs the case with all checks; a failure is reported.
void check_case(const attention_case& c);

/// The case of this kernel that the bytes are.
void check_bytes(std::span<const std::uint8_t> bytes, const std::string& kernel);

}  // namespace assay::fuzz
