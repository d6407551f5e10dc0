/// The counters that fuzz targets write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay::campaign {

/// Adds the lines "NAME HITS" of a process's file to `sums`, by name. For names that begin with "most_" it keeps the
/// largest number of any process instead. Ignores other lines, and a missing file.
void add_counters(const std::filesystem::path& file, std::map<std::string, std::int64_t>& sums);

/// What one of two libraries that judge each case did.
struct side {
  std::string platform;
  std::int64_t runs = 0;
  std::int64_t decided = 0;
  std::int64_t discarded = 0;
  std::int64_t undecided = 0;
  double seconds = 0;  ///< that its runs took, with their judgement
  double per_second() const { return seconds > 0 ? static_cast<double>(runs) / seconds : 0; }
};

/// Reads the lines "PLATFORM:COUNT" of the sums, by platform. Empty where one library judges.
std::vector<side> sides_of(const std::map<std::string, std::int64_t>& sums);

}  // namespace assay::campaign
