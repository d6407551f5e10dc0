#include "properties/campaign/target_counters.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

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

std::vector<side> sides_of(const std::map<std::string, std::int64_t>& sums) {
  constexpr std::string_view of_runs = ":runs";
  std::vector<side> sides;
  for (const auto& [name, runs] : sums) {
    if (!name.ends_with(of_runs)) continue;
    side s{name.substr(0, name.size() - of_runs.size()), runs};
    const auto count = [&](const char* what) {
      const auto at = sums.find(s.platform + what);
      return at == sums.end() ? std::int64_t{0} : at->second;
    };
    s.decided = count(":decided");
    s.discarded = count(":discarded");
    s.undecided = count(":undecided");
    s.seconds = 1e-6 * static_cast<double>(count(":microseconds"));
    sides.push_back(std::move(s));
  }
  return sides;
}

}  // namespace assay::campaign
