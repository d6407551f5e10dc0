/// The counters that fuzz targets write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace assay::campaign {

/// Adds the lines "NAME HITS" of a process's file to `sums`, by name. For names that begin with "most_" it keeps the
/// largest number of any process instead. Ignores other lines, and a missing file.
void add_counters(const std::filesystem::path& file, std::map<std::string, std::int64_t>& sums);

}  // namespace assay::campaign
