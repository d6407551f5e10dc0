/// The source lines that the checker's report of a planted fault may name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "properties/nightly/fault.hpp"

namespace assay {

/// Places as the checker writes them ("split_kv_kernel.hpp:120"); its report must name one of them. They are the lines
/// with the text of the fault's `line` or, without it, the lines that the patch adds. `copy` is the folder with the
/// patched files that the library was built from; files that the patch does not touch are those of the project. Throws
/// case_error if there is no such line, or if the copy differs from what the patch makes.
std::vector<std::string> expected_places(const fault& planted, const std::filesystem::path& patch,
                                         const std::filesystem::path& copy);

/// Whether a report names one of the places.
bool names_one_of(std::string_view report, const std::vector<std::string>& places);

}  // namespace assay
