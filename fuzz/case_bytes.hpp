/// Cases as inputs of a target.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fuzz/input_form.hpp"

namespace assay::fuzz {

/// The bytes of the case, or of the nearest one that has bytes, behind a head that is drawn from the text: cases begin
/// with different ones. Nothing if the target does not take its kernel's cases. The text itself, where the target takes
/// texts. `origin` names the text in the case_error that is thrown where a target of cases is given none.
std::optional<std::vector<std::uint8_t>> input_of(const input_form& form, std::string_view json,
                                                  std::string_view origin);

}  // namespace assay::fuzz
