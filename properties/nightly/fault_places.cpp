#include "properties/nightly/fault_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "properties/case/case.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream text(read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string place(const fs::path& file, std::size_t number) {
  return fmt::format("{}:{}", file.filename().string(), number);
}

/// The first line of a hunk in the patched file; 0 if its head is malformed.
std::size_t start_of(const std::string& hunk) {
  std::size_t number = 0;
  const std::size_t plus = hunk.find('+');
  if (plus != std::string::npos) std::from_chars(hunk.data() + plus + 1, hunk.data() + hunk.size(), number);
  return number;
}

std::vector<std::string> added_places(const fs::path& patch, const fs::path& copy) {
  std::vector<std::string> added;
  std::vector<std::string> patched;
  fs::path file;
  std::size_t number = 0;
  for (const std::string& line : lines_of(patch)) {
    if (line.starts_with("+++ b/")) {
      file = line.substr(6);
      patched = lines_of(copy / file);
      number = 0;
    } else if (line.starts_with("@@ ")) {
      number = start_of(line);
    } else if (number > 0 && !line.starts_with('-')) {
      if (line.starts_with('+')) {
        if (number > patched.size() || patched[number - 1] != line.substr(1))
          throw case_error(fmt::format("{}: line {} of {} differs from the added line", patch.string(), number,
                                       (copy / file).string()));
        added.push_back(place(file, number));
      }
      ++number;
    }
  }
  return added;
}

/// `sources`: the project's folder, whose file the library has where the patch does not touch it.
std::vector<std::string> places_of(const std::string& text, const fs::path& file, const fs::path& copy,
                                   const fs::path& sources) {
  const std::vector<std::string> lines = lines_of((fs::exists(copy / file) ? copy : sources) / file);
  std::vector<std::string> places;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(text) != std::string::npos) places.push_back(place(file, i + 1));
  return places;
}

}  // namespace

std::vector<std::string> expected_places(const fault& planted, const fs::path& patch, const fs::path& copy) {
  const std::size_t colon = planted.line.find(": ");
  if (!planted.line.empty() && colon == std::string::npos)
    throw case_error(fmt::format("{}: Line: '{}' must be '<path>: <text>'", patch.string(), planted.line));
  const fs::path sources = patch.parent_path() / ".." / "..";  // of tests/faults/NAME.patch
  const std::vector<std::string> places =
      planted.line.empty() ? added_places(patch, copy)
                           : places_of(planted.line.substr(colon + 2), planted.line.substr(0, colon), copy, sources);
  if (places.empty()) throw case_error(fmt::format("{}: names no line for the checker's report", patch.string()));
  return places;
}

bool names_one_of(std::string_view report, const std::vector<std::string>& places) {
  // Reports hold places as in "(mma.hpp:37, from split_kv_kernel.hpp:170)". A longer name or number must not match.
  return std::ranges::any_of(places, [&](const std::string& one) {
    for (std::size_t at = report.find(one); at != std::string_view::npos; at = report.find(one, at + 1)) {
      const std::size_t end = at + one.size();
      const bool begins = at > 0 && (report[at - 1] == '(' || report[at - 1] == ' ');
      if (begins && end < report.size() && (report[end] == ',' || report[end] == ')')) return true;
    }
    return false;
  });
}

}  // namespace assay
