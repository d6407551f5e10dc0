/// Where the report of the checker of loads and stores has to point for a planted fault to count as caught.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "properties/nightly/fault.hpp"

namespace assay {

/// Places of which the checker's report must name one, as it writes them ("split_kv_kernel.hpp:120"): the lines that
/// hold the text of the fault's `line`; without it, those that its patch adds. `copy` is the folder with the patched
/// files that the library was built from. Throws case_error for a patch, or a copy that is not as the patch makes it,
/// where there is no such place.
std::vector<std::string> expected_places(const fault& planted, const std::filesystem::path& patch,
                                         const std::filesystem::path& copy);

/// Whether a report names one of the places.
bool names_one_of(std::string_view report, const std::vector<std::string>& places);

}  // namespace assay
