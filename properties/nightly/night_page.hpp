/// The report of a night as one HTML page, and the numbers of earlier nights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/nightly/night_comparison.hpp"

namespace assay {

/// The nights whose reports lie in a folder of nights (FOLDER/*/night.json), the oldest first; the last 60 of them.
/// Files that are no reports are left out.
std::vector<night> nights_in(const std::filesystem::path& folder);

/// The page: stages, findings, what changed since the night before (may be null), and numbers over `earlier` nights and
/// this one.
std::string night_page(const night& now, const night* before, const std::vector<night>& earlier);

}  // namespace assay
