/// Holds the house's rules: folders include only downwards, files stay small, nothing random or NaN-blind hides.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace fs = std::filesystem;

namespace {

struct source {
  std::string path;  // relative to the root, '/' separated
  std::vector<std::string> lines;
};

std::vector<source> sources_below(const fs::path& root) {
  static const std::set<std::string> rooms = {"kernels", "oracle", "properties", "fuzz", "tests"};
  static const std::set<std::string> endings = {".hpp", ".cpp", ".hip", ".h"};
  std::vector<source> found;
  for (const std::string& room : rooms) {
    if (!fs::exists(root / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      if (!entry.is_regular_file() || !endings.contains(entry.path().extension().string())) continue;
      source s{fs::relative(entry.path(), root).generic_string(), {}};
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) s.lines.push_back(line);
      found.push_back(std::move(s));
    }
  }
  std::sort(found.begin(), found.end(), [](const source& a, const source& b) { return a.path < b.path; });
  return found;
}

std::string room_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

/// What a file at `path` may not include, as one line, or empty.
std::string forbidden_include(const std::string& path, const std::string& included) {
  static const std::map<std::string, int> height = {
      {"kernels", 0}, {"oracle", 1}, {"properties", 2}, {"fuzz", 3}, {"tests", 4}};
  static const std::set<std::string> shared_with_oracle = {"kernels/problem.hpp", "kernels/tensor.hpp",
                                                           "kernels/contract.hpp"};
  const std::string from = room_of(path), to = room_of(included);
  if (!height.contains(to)) return {};  // a library's header, or a platform's <hip/...>
  if (height.at(to) > height.at(from)) return path + " includes upwards: " + included;
  if (from == "oracle" && to == "kernels" && !shared_with_oracle.contains(included))
    return path + " shares more with the kernels than the problem statement: " + included;
  const bool is_device = path.starts_with("kernels/device/");
  if (is_device && included.starts_with("kernels/platform/nvidia")) return path + " includes a platform: " + included;
  return {};
}

std::vector<std::string> broken_includes(const std::vector<source>& sources) {
  static const std::regex include(R"rx(^\s*#\s*include\s*"([^"]+)")rx");
  std::vector<std::string> broken;
  for (const source& s : sources)
    for (const std::string& line : s.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      if (std::string what = forbidden_include(s.path, match[1]); !what.empty()) broken.push_back(what);
    }
  return broken;
}

std::vector<std::string> blind_lines(const std::vector<source>& sources) {
  static const std::regex blind(R"(random_device|\brand\(\)|abs\([^;]*\) *> *(eps|tol))");
  std::vector<std::string> found;
  for (const source& s : sources)
    for (const std::string& line : s.lines)
      if (room_of(s.path) != "tests" && std::regex_search(line, blind)) found.push_back(s.path + ": " + line);
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::ostringstream out;
  for (const std::string& line : lines) out << line << '\n';
  return out.str();
}

const fs::path root = ASSAY_SOURCE_DIR;

}  // namespace

TEST_CASE("folders include only downwards, and the oracle shares only the problem with the kernels", "[layering]") {
  const auto broken = broken_includes(sources_below(root));
  INFO(joined(broken));
  CHECK(broken.empty());
}

TEST_CASE("the include rule finds an upward include, and an oracle that shares kernel code", "[layering]") {
  CHECK(broken_includes({{"oracle/a.cpp", {"#include \"properties/case/case.hpp\""}}}).size() == 1);
  CHECK(broken_includes({{"oracle/a.cpp", {"#include \"kernels/device/paging.hpp\""}}}).size() == 1);
  CHECK(broken_includes({{"kernels/a.hip", {"#include \"oracle/enclosure.hpp\""}}}).size() == 1);
  CHECK(broken_includes({{"oracle/a.cpp", {"#include \"kernels/problem.hpp\"", "#include <vector>"}}}).empty());
}

TEST_CASE("no file hides randomness or a comparison that a NaN passes", "[layering]") {
  const auto found = blind_lines(sources_below(root));
  INFO(joined(found));
  CHECK(found.empty());
  CHECK(blind_lines({{"oracle/a.cpp", {"if (std::abs(a - b) > tol) fail();"}}}).size() == 1);
}

TEST_CASE("files stay small: median at most 120 lines, none over 500, fuzz targets at most 40", "[layering]") {
  std::vector<std::size_t> lines;
  for (const source& s : sources_below(root)) {
    lines.push_back(s.lines.size());
    INFO(s.path << ": " << s.lines.size() << " lines");
    CHECK(s.lines.size() <= (s.path.starts_with("fuzz/fuzz_") ? 40U : 500U));
  }
  std::sort(lines.begin(), lines.end());
  REQUIRE(!lines.empty());
  CHECK(lines[lines.size() / 2] <= 120);
}

TEST_CASE("the top level holds the named rooms and nothing else", "[layering]") {
  static const std::set<std::string> rooms = {
      "kernels",   "oracle", "properties",        "fuzz",    "corpus",       "tests",           "CMakeLists.txt",
      "README.md", "assay",  "CMakePresets.json", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "docs"};
  static const std::set<std::string> made_here = {"build", "out"};  // ignored by git
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK((name.starts_with('.') || rooms.contains(name) || made_here.contains(name)));
  }
}
