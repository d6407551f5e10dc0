/// Cases as inputs of a target.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fuzz/input_form.hpp"

namespace assay::fuzz {

/// A target's input for a case: the text itself if the target takes texts, else the bytes of the case, or of the
/// nearest case that bytes can encode, behind a head drawn from the text. Nothing if the target does not take cases of
/// this kernel. Throws case_error, which begins with `origin`, if the text is not a case.
std::optional<std::vector<std::uint8_t>> input_of(const input_form& form, std::string_view json,
                                                  std::string_view origin);

}  // namespace assay::fuzz
