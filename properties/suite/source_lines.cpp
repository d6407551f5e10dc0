#include "properties/suite/source_lines.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <set>

#include "properties/system/printable.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int most_depth = 6;
constexpr int most_entries = 20'000;  ///< of a root: far more than a project of kernels has
constexpr std::uintmax_t most_source_bytes = 4 << 20;
constexpr std::size_t most_line_bytes = 200;

const std::set<std::string> source_endings = {".hpp", ".cpp", ".hip", ".h",   ".c", ".cc",
                                              ".cu",  ".cuh", ".cxx", ".inc", ".py"};

std::multimap<std::string, fs::path> sources_below(const fs::path& root) {
  std::multimap<std::string, fs::path> found;
  std::error_code error;
  int entries = 0;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && at != end && entries < most_entries; at.increment(error), ++entries) {
    const fs::path& path = at->path();
    const std::string name = path.filename().string();
    std::error_code unknown;
    if (at->is_directory(unknown)) {
      if (name.starts_with('.') || name == "build" || name == "out" || at.depth() >= most_depth)
        at.disable_recursion_pending();
    } else if (source_endings.contains(path.extension().string()) && at->is_regular_file(unknown)) {
      found.emplace(name, path.lexically_normal());
    }
  }
  return found;
}

struct found_place {
  source_place place;  ///< without a name where there is none
  std::size_t begin = 0, end = 0;
};

/// The place around a colon that begins at `from` or behind it.
found_place place_at(const std::string& message, std::size_t colon, std::size_t from) {
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./+-").find(c) != std::string_view::npos;
  };
  found_place found;
  found.begin = colon;
  while (found.begin > from && is_of_name(message[found.begin - 1])) --found.begin;
  const std::string name = message.substr(found.begin, colon - found.begin);
  const auto number = std::from_chars(message.data() + colon + 1, message.data() + message.size(), found.place.line);
  found.end = static_cast<std::size_t>(number.ptr - message.data());
  if (number.ec == std::errc{} && found.place.line > 0 && source_endings.contains(fs::path(name).extension().string()))
    found.place.name = name;
  return found;
}

/// Whether a path ends with what the message says, folder by folder.
bool ends_with(const fs::path& path, const fs::path& name) {
  const std::string whole = "/" + path.generic_string(), end = "/" + name.lexically_normal().generic_string();
  return whole.ends_with(end);
}

}  // namespace

std::vector<source_place> places_in(const std::string& message) {
  static constexpr std::string_view inlined = ", from ";
  std::vector<source_place> places;
  const auto add = [&](const source_place& p) {
    if (std::ranges::find(places, p) == places.end()) places.push_back(p);
  };
  std::optional<source_place> outermost;  // so far, of the calls that an access was inlined through
  std::size_t end_of_last = 0;
  for (std::size_t colon = 0; (colon = message.find(':', colon)) != std::string::npos; ++colon) {
    const auto [place, begin, end] = place_at(message, colon, end_of_last);
    if (place.name.empty()) continue;
    const bool is_caller =
        end_of_last > 0 && std::string_view(message).substr(end_of_last, begin - end_of_last) == inlined;
    end_of_last = end;
    if (is_caller) {
      outermost = place;
      continue;
    }
    if (outermost) add(*outermost);
    outermost.reset();
    add(place);
  }
  if (outermost) add(*outermost);
  return places;
}

source_finder::source_finder(const std::vector<fs::path>& roots) {
  std::set<fs::path> seen;
  for (const fs::path& root : roots) {
    std::error_code error;
    if (seen.insert(fs::weakly_canonical(root, error)).second) files_.push_back(sources_below(root));
  }
}

source_finder source_finder::for_library(const std::string& library) {
  std::vector<fs::path> roots{"."};
  std::error_code error;
  // A library lies in a build folder, beside or below its sources.
  if (fs::is_regular_file(library, error)) {
    const fs::path folder = fs::path(library).parent_path();
    roots.push_back(folder.empty() ? "." : folder);
    if (fs::absolute(folder, error).parent_path().has_relative_path()) roots.push_back(folder / "..");
  }
  return source_finder(roots);
}

std::optional<fs::path> source_finder::find(const std::string& name) const {
  for (const auto& files : files_) {
    std::vector<fs::path> matching;
    const auto [first, last] = files.equal_range(fs::path(name).filename().string());
    for (auto at = first; at != last; ++at)
      if (ends_with(at->second, name)) matching.push_back(at->second);
    if (matching.size() == 1) return matching.front();
    if (matching.size() > 1) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<source_excerpt> source_finder::excerpt(const source_place& place, std::int64_t around) const {
  const std::optional<fs::path> file = find(place.name);
  std::error_code error;
  if (!file || place.line < 1 || fs::file_size(*file, error) > most_source_bytes || error) return std::nullopt;
  source_excerpt found{*file, place.line, std::max<std::int64_t>(1, place.line - around), {}};
  std::ifstream in(*file);
  std::int64_t number = 1;
  for (std::string line; number <= place.line + around && std::getline(in, line); ++number)
    if (number >= found.first_line) found.lines.push_back(printable(line, most_line_bytes));
  if (number <= place.line) return std::nullopt;
  return found;
}

}  // namespace assay
