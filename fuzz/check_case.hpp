/// The check of the targets whose inputs are cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/case/case.hpp"

namespace assay::fuzz {

/// The case of one of these kernels that the bytes encode, within what the libraries take.
attention_case supported_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels);

/// Runs the case with all checks and reports a failure: on the library under test, then on the one beside it, if there
/// is one (judge_beside.hpp).
void check_case(const attention_case& c);

/// Checks the case of this kernel that the bytes encode.
void check_bytes(std::span<const std::uint8_t> bytes, const std::string& kernel);

}  // namespace assay::fuzz
