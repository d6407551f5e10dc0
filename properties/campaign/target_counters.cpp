#include "properties/campaign/target_counters.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace assay::campaign {

void add_counters(const std::filesystem::path& file, std::map<std::string, std::int64_t>& sums) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {  // the last line may be incomplete
    const auto space = line.rfind(' ');
    if (space == 0 || space == std::string::npos) continue;
    std::int64_t hits = 0;
    const char* end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + space + 1, end, hits);
    if (parsed.ec != std::errc{} || parsed.ptr != end || hits < 0) continue;
    std::int64_t& sum = sums[line.substr(0, space)];
    sum = line.starts_with("most_") ? std::max(sum, hits) : sum + hits;
  }
}

}  // namespace assay::campaign
