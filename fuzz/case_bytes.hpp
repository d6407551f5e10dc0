/// Cases as inputs of the target that this is linked into.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::fuzz {

/// The bytes of the case, or of the nearest one that has bytes, behind a head of zeros; nothing if the target does not
/// take its kernel's cases. The text itself, where the target takes texts.
std::optional<std::vector<std::uint8_t>> input_of(std::string_view json);

}  // namespace assay::fuzz
