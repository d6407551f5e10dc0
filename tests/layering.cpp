#include "tests/layering.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace assay::layering {
namespace {

namespace fs = std::filesystem;

/// From the lowest to the highest.
const std::vector<std::string> areas = {"kernels", "oracle", "properties", "fuzz", "python", "tests"};

/// A file includes its own room and those below. Rooms of one floor do not include each other.
const std::map<std::string, int> floors = {
    {"kernels", 0},  // the face: kernels/*.hpp
    {"kernels/platform/cpu/base", 1},
    {"kernels/platform/cpu/matrix_unit", 1},
    {"kernels/platform/cpu/checker", 2},
    {"kernels/platform/cpu/executor", 3},
    {"kernels/platform/cpu/hip", 4},
    {"kernels/platform/cpu/cuda", 5},
    {"kernels/platform/cpu/source_pass", 1},  // a program of its own
    {"kernels/platform/nvidia/hip", 4},
    {"kernels/platform/common", 5},  // written in HIP's words
    {"kernels/platform/amd", 6},
    {"kernels/platform/cpu", 6},  // device.hpp
    {"kernels/platform/nvidia", 6},
    {"kernels/platform", 7},  // current.hpp
    {"kernels/device", 8},
    {"kernels/host", 8},
    // 9: a folder per kernel
    {"kernels/kit", 9},  // what stands for the kernel of somebody else
    {"kernels/registry.cpp", 10},
    {"oracle", 0},
    {"properties/system", 1},
    {"properties/case", 2},
    {"properties/data", 3},
    {"properties/generate", 4},
    {"properties/run", 4},
    {"properties/explain", 5},
    {"properties/probe", 5},
    {"properties/relations", 5},
    {"properties/suite", 6},
    {"properties/campaign", 7},
    {"properties/html", 7},
    {"properties/corpus", 8},
    {"properties/nightly", 8},
    {"properties/cli", 9},
    {"fuzz", 0},
    {"python", 0},
    {"tests", 0},
};
constexpr int floor_of_kernels = 9;

const std::set<std::string> shared_with_oracle = {"kernels/problem.hpp", "kernels/tensor.hpp", "kernels/contract.hpp",
                                                  "kernels/matrix_atom.hpp"};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '/');) parts.push_back(part);
  return parts;
}

/// The first `count` parts of a path, of its folders only.
std::string folder_of(const std::vector<std::string>& parts, std::size_t count) {
  std::string folder = parts.front();
  for (std::size_t i = 1; i < std::min(count, parts.size() - 1); ++i) folder += "/" + parts[i];
  return folder;
}

bool is_kernel_folder(const std::string& room) {
  return room.starts_with("kernels/") && !floors.contains(room) && parts_of(room).size() == 2;
}

/// "kernels/platform/cpu" for all of the cpu platform; empty for what is no vendor's.
std::string vendor_of(const std::string& room) {
  const std::vector<std::string> parts = parts_of(room);
  if (parts.size() < 3 || !room.starts_with("kernels/platform/") || parts[2] == "common") return {};
  return parts[0] + "/" + parts[1] + "/" + parts[2];
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void add_below(const fs::path& root, const std::string& folder, const std::set<std::string>& endings,
               std::vector<source>& found) {
  if (!fs::exists(root / folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder))
    if (entry.is_regular_file() && endings.contains(entry.path().extension().string()))
      found.push_back({fs::relative(entry.path(), root).generic_string(), lines_of(entry.path())});
}

std::vector<std::string> matching_lines(const std::vector<source>& sources, const std::regex& what) {
  std::vector<std::string> found;
  for (const source& s : sources)
    for (const std::string& line : s.lines)
      if (area_of(s.path) != "tests" && std::regex_search(line, what)) found.push_back(s.path + ": " + line);
  return found;
}

}  // namespace

std::vector<source> code_below(const fs::path& root) {
  std::vector<source> found;
  for (const std::string& area : areas) add_below(root, area, {".hpp", ".cpp", ".hip", ".h"}, found);
  std::ranges::sort(found, {}, &source::path);
  return found;
}

std::vector<source> texts_below(const fs::path& root) {
  std::vector<source> found;
  std::vector<std::string> folders = areas;
  folders.insert(folders.end(), {".ci", ".github", ".clusterfuzzlite"});
  for (const std::string& folder : folders)
    add_below(root, folder, {".hpp", ".cpp", ".hip", ".h", ".md", ".cmake", ".sh", ".patch", ".yml", ""}, found);
  for (const char* name : {"README.md", "CHANGELOG.md", "CMakeLists.txt", "assay"})
    if (fs::exists(root / name)) found.push_back({name, lines_of(root / name)});
  std::ranges::sort(found, {}, &source::path);
  return found;
}

std::string area_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

std::string room_of(const std::string& path) {
  const std::vector<std::string> parts = parts_of(path);
  if (path == "kernels/registry.cpp") return path;
  if (parts.front() == "kernels") return folder_of(parts, parts.size() > 1 && parts[1] == "platform" ? 4 : 2);
  return folder_of(parts, parts.front() == "properties" ? 2 : 1);
}

std::optional<height> height_of(const std::string& room) {
  const auto area = std::ranges::find(areas, area_of(room));
  if (area == areas.end()) return std::nullopt;
  const int height_of_area = static_cast<int>(area - areas.begin());
  if (is_kernel_folder(room)) return height{height_of_area, floor_of_kernels};
  const auto floor = floors.find(room);
  if (floor == floors.end()) return std::nullopt;
  return height{height_of_area, floor->second};
}

std::string included_by(const std::string& path, const std::string& line) {
  static const std::regex include(R"rx(^\s*#\s*include\s*["<]([^">]+)[">])rx");
  std::smatch match;
  if (!std::regex_search(line, match, include)) return {};
  std::string name = match[1];
  if (std::ranges::find(areas, area_of(name)) != areas.end()) return name;
  if (!name.starts_with("hip/")) return {};
  const std::string vendor = vendor_of(room_of(path));
  if (vendor == "kernels/platform/amd") return {};  // the system's
  return (vendor.empty() ? "kernels/platform/cpu" : vendor) + "/" + name;
}

std::string forbidden_include(const std::string& path, const std::string& included) {
  const std::string from = room_of(path), to = room_of(included);
  const std::optional<height> of_from = height_of(from), of_to = height_of(to);
  if (!of_from) return path + " lies in a room without a floor: " + from;
  if (!of_to) return path + " includes a room without a floor: " + included;
  if (from == to || from == "tests") return {};
  if (*of_from < *of_to) return path + " includes upwards: " + included;
  if (is_kernel_folder(from) && is_kernel_folder(to)) return path + " includes another kernel: " + included;
  if (*of_from == *of_to) return path + " includes a room of its own floor: " + included;
  if (from == "oracle" && area_of(to) == "kernels" && !shared_with_oracle.contains(included))
    return path + " shares more with the kernels than the problem statement: " + included;
  if (const std::string vendor = vendor_of(to); !vendor.empty()) {
    if (!vendor_of(from).empty() && vendor_of(from) != vendor) return path + " includes another vendor: " + included;
    if (is_kernel_folder(from) && !to.ends_with("/hip")) return path + " includes a vendor's platform: " + included;
    if (from == "kernels/device" && vendor.ends_with("/nvidia")) return path + " includes a platform: " + included;
  }
  if (is_kernel_folder(from) && to == "kernels/platform/common") return path + " includes a platform: " + included;
  return {};
}

std::vector<std::string> broken_includes(const std::vector<source>& sources) {
  std::vector<std::string> broken;
  for (const source& s : sources)
    for (const std::string& line : s.lines) {
      const std::string included = included_by(s.path, line);
      if (included.empty()) continue;
      if (std::string what = forbidden_include(s.path, included); !what.empty()) broken.push_back(std::move(what));
    }
  return broken;
}

arrows arrows_between(const std::vector<source>& sources) {
  arrows all;
  for (const source& s : sources)
    for (const std::string& line : s.lines) {
      const std::string included = included_by(s.path, line), from = room_of(s.path);
      if (included.empty() || area_of(s.path) == "tests" || room_of(included) == from) continue;
      ++all[{from, room_of(included)}];
    }
  return all;
}

std::vector<std::string> circle_in(const arrows& all) {
  std::set<std::string> done;
  std::vector<std::string> way;
  // Depth first: a room that is met again on the way to it closes a circle.
  const auto walk = [&](const auto& self, const std::string& room) -> bool {
    if (const auto met = std::ranges::find(way, room); met != way.end()) {
      way.erase(way.begin(), met);
      return true;
    }
    if (!done.insert(room).second) return false;
    way.push_back(room);
    for (const auto& [arrow, count] : all)
      if (arrow.first == room && self(self, arrow.second)) return true;
    way.pop_back();
    return false;
  };
  for (const auto& [arrow, count] : all)
    if (walk(walk, arrow.first)) return way;
  return {};
}

std::vector<std::string> shared_names(const std::vector<source>& sources) {
  std::map<std::string, std::map<std::string, std::string>> paths;  // by name, then by room
  for (const source& s : sources) {
    if (area_of(s.path) == "tests") continue;
    const std::string room = room_of(s.path);
    const std::string vendor = vendor_of(room);
    const std::string key = vendor.empty() ? room : "vendor" + room.substr(vendor.size());
    paths[s.path.substr(s.path.rfind('/') + 1)].emplace(key, s.path);
  }
  std::vector<std::string> shared;
  for (const auto& [name, of_rooms] : paths) {
    if (of_rooms.size() < 2) continue;
    std::string line = name + ":";
    for (const auto& [room, path] : of_rooms) line += " " + path;
    shared.push_back(line);
  }
  return shared;
}

std::vector<std::string> blind_lines(const std::vector<source>& sources) {
  static const std::regex blind(R"(random_device|\brand\(\)|abs\([^;]*\) *> *(eps|tol))");
  return matching_lines(sources, blind);
}

}  // namespace assay::layering
