#include "properties/explain/race_story.hpp"

#include <algorithm>
#include <regex>

namespace assay {

std::optional<race_story> read_race(const std::string& message, std::int64_t wave_size) {
  // As access_checker::report_problems() writes it.
  static const std::regex form(
      R"rx(race on (.{1,200}?): ((?:atomic )?\w+ of \d+ bytes?) \(([^()]*)\) by thread (\d{1,6}) and (\w+) by thread (\d{1,6}))rx"
      R"rx(( of block number \d+)?( and other [a-z ]+?)? ?(?:\(([^()]*)\))?, with no barrier)rx");
  static const std::regex block(R"rx(\(block (\d+,\d+,\d+) wave \d+ lane \d+\))rx");
  constexpr std::size_t most_bytes = 4096;
  if (message.size() > most_bytes) return std::nullopt;
  std::smatch m, b;
  if (!std::regex_search(message, m, form)) return std::nullopt;
  race_story story;
  const std::int64_t lanes = std::max<std::int64_t>(1, wave_size);
  story.place = m[1];
  story.later = {m[2], m[3], std::stoll(m[4]), std::stoll(m[4]) / lanes, "", ""};
  story.earlier = {m[5], m[9], std::stoll(m[6]), std::stoll(m[6]) / lanes, m[8], m[7]};
  if (!story.earlier.others.empty()) story.earlier.others.erase(0, 1);
  if (!story.earlier.block.empty()) story.earlier.block.erase(0, std::string(" of ").size());
  if (std::regex_search(message, b, block)) story.block = b[1];
  return story;
}

}  // namespace assay
