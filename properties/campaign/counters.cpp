#include "properties/campaign/counters.hpp"

#include <charconv>
#include <fstream>

namespace assay::campaign {

std::map<std::string, std::int64_t> read_counters(const std::filesystem::path& file) {
  std::map<std::string, std::int64_t> sums;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {  // the last line may lack its end
    const auto space = line.rfind(' ');
    if (space == 0 || space == std::string::npos) continue;
    std::int64_t hits = 0;
    const char* end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + space + 1, end, hits);
    if (parsed.ec == std::errc{} && parsed.ptr == end && hits >= 0) sums[line.substr(0, space)] += hits;
  }
  return sums;
}

}  // namespace assay::campaign
