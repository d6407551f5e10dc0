#include "properties/nightly/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "properties/case/case.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::set<std::string> split(const std::string& list) {
  std::istringstream words(list);
  std::set<std::string> all;
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    if (!word.empty()) all.insert(word);
  }
  return all;
}

int positive(const std::string& text, const std::string& where) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1)
    throw case_error(fmt::format("{}: '{}' must be a whole number above 0", where, text));
  return value;
}

/// Sets the field that `key` names. False if the key is unknown.
bool set(fault& f, const std::string& key, const std::string& value, const std::string& where) {
  if (key == "Caught-by")
    f.caught_by = split(value);
  else if (key == "Checker")
    f.checker = value;
  else if (key == "Line")
    f.line = value;
  else if (key == "Kernel")
    f.kernel = value;
  else if (key == "Types")
    f.types = value;
  else if (key == "Heads")
    f.heads = positive(value, where + ": Heads");
  else if (key == "Cases")
    f.cases = positive(value, where + ": Cases");
  else if (key == "Races")
    f.races = value == "yes";
  else
    return false;
  return true;
}

}  // namespace

fault read_fault(const fs::path& patch) {
  fault f;
  f.name = patch.stem().string();
  std::istringstream text(read_file(patch));
  for (std::string line; std::getline(text, line) && !line.starts_with("---");) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && set(f, line.substr(0, colon), line.substr(colon + 2), patch.string())) continue;
    f.summary += (f.summary.empty() ? "" : " ") + line;
  }
  if (f.caught_by.empty() && f.checker.empty())
    throw case_error(patch.string() + ": the head must name a check (Caught-by or Checker)");
  return f;
}

std::vector<fault> read_faults(const fs::path& folder) {
  std::vector<fs::path> patches;
  if (fs::is_directory(folder))
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".patch") patches.push_back(entry.path());
  if (patches.empty()) throw environment_error(folder.string() + ": contains no .patch files");
  std::ranges::sort(patches);
  std::vector<fault> all;
  for (const fs::path& patch : patches) all.push_back(read_fault(patch));
  return all;
}

}  // namespace assay
