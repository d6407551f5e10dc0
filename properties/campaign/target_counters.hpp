/// The targets' counters of what edges cannot see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace assay::campaign {

/// Adds the lines "NAME HITS" of a process's file to `sums`, by name; of names that begin with "most_", which count
/// different things, the largest of any process stays. Other lines do not count. A target need not count: there may be
/// no file.
void add_counters(const std::filesystem::path& file, std::map<std::string, std::int64_t>& sums);

}  // namespace assay::campaign
