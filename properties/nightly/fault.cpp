#include "properties/nightly/fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <tuple>

#include "properties/case/case.hpp"
#include "properties/relations/property.hpp"
#include "properties/run/execute.hpp"
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
    throw case_error(fmt::format("{}: '{}' is not a whole number above 0", where, text));
  return value;
}

/// Whether verdicts can have that origin.
bool is_check(const std::string& name) {
  for (const char* of_all_runs : {"enclosure", "memory", "launch", "exception"})
    if (name == of_all_runs) return true;
  for (std::int32_t kind = ASSAY_DIVERGENT_BARRIER; kind <= ASSAY_MISALIGNED; ++kind)
    if (name == origin_of(static_cast<assay_defect_kind>(kind))) return true;
  return std::ranges::find(properties(), name, &property::name) != properties().end();
}

/// Sets the field that `key` names. False if the key is unknown.
bool set(fault& f, const std::string& key, const std::string& value, const std::string& where) {
  if (key == "Caught-by")
    f.caught_by = split(value);
  else if (key == "Says")
    f.says = value;
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
  else if (key == "Seed")
    f.seed = positive(value, where + ": Seed");
  else if (key == "Races")
    f.races = value == "yes";
  else if (key == "Upstream")
    f.upstream = value;
  else if (key == "Mistake")
    f.mistake = value;
  else if (key == "Smallest")
    f.smallest = value;
  else if (key == "Seconds")
    f.seconds = value;
  else
    return false;
  return true;
}

/// The last word of `upstream` is the link.
std::string markdown_link(const std::string& upstream) {
  const std::size_t space = upstream.rfind(' ');
  return fmt::format("[{}]({})", upstream.substr(0, space), upstream.substr(space + 1));
}

/// What must catch the fault: checks of every platform, then what the cpu platform's access checker reports.
std::string checks_of(const fault& f) {
  std::string checks = fmt::format("{}", fmt::join(f.caught_by, ", "));
  if (!f.checker.empty()) checks += (checks.empty() ? "" : ", ") + f.checker;
  return checks;
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
  for (const std::string& check : f.caught_by)
    if (!is_check(check))
      throw case_error(fmt::format("{}: Caught-by: there is no check '{}' (it is enclosure, memory or a property)",
                                   patch.string(), check));
  if (f.caught_by.contains("exception") == f.says.empty())
    throw case_error(patch.string() + ": 'Caught-by: exception' and Says, the words of the exception, go together");
  if (f.upstream.empty() != f.mistake.empty() || f.upstream.empty() != f.smallest.empty())
    throw case_error(patch.string() + ": Upstream, Mistake and Smallest go together");
  if (!f.upstream.empty() && f.upstream.find(" https://") == std::string::npos)
    throw case_error(patch.string() + ": Upstream must end with a link");
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
  all.reserve(patches.size());
  for (const fs::path& patch : patches) all.push_back(read_fault(patch));
  return all;
}

std::string upstream_markdown(const std::vector<fault>& faults) {
  std::vector<fault> known;
  std::ranges::copy_if(faults, std::back_inserter(known), [](const fault& f) { return !f.upstream.empty(); });
  std::ranges::sort(known, {}, [](const fault& f) { return std::tie(f.upstream, f.name); });
  std::string text =
      "| report | mistake | smallest failing case | check | seconds | fault |\n"
      "|---|---|---|---|---|---|\n";
  for (const fault& f : known)
    text += fmt::format("| {} | {} | {} | {} | {} | `{}` |\n", markdown_link(f.upstream), f.mistake, f.smallest,
                        checks_of(f), f.seconds, f.name);
  return text;
}

}  // namespace assay
