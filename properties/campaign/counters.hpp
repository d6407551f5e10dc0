/// The targets' counters of what edges cannot see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace assay::campaign {

/// Sums the lines "NAME HITS" that processes appended, by name. Other lines, as a kill may leave one, do not count.
/// Empty without a file: a target need not count.
std::map<std::string, std::int64_t> read_counters(const std::filesystem::path& file);

}  // namespace assay::campaign
