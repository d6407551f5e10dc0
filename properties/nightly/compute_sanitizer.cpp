#include "properties/nightly/compute_sanitizer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "properties/case/case.hpp"
#include "properties/case/types.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/printable.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "========= ";

/// The number behind "ERROR SUMMARY: " or "RACECHECK SUMMARY: "; below 0 if the line is no summary.
std::int64_t summed(std::string_view line) {
  constexpr std::string_view words = " SUMMARY: ";
  const auto at = line.find(words);
  if (at == std::string_view::npos) return -1;
  const std::string_view digits = line.substr(at + words.size());
  std::int64_t count = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return parsed.ec == std::errc{} ? count : -1;
}

/// Lines that a tool writes of any program.
bool is_banner(std::string_view line) {
  constexpr std::string_view all[] = {"COMPUTE-SANITIZER", "LEAK SUMMARY", "Target application", "Program hit",
                                      "No CUDA-GPU"};
  return line.starts_with(' ') || line.empty() ||
         std::ranges::any_of(all, [&](std::string_view one) { return line.starts_with(one); });
}

}  // namespace

tool_report read_tool_report(std::string_view log) {
  tool_report report;
  std::istringstream lines{std::string(log)};
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
    if (!line.starts_with(mark)) continue;
    const std::string_view said = std::string_view(line).substr(mark.size());
    if (const std::int64_t count = summed(said); count >= 0) {
      report.worked = true;
      report.errors += count;
    } else if (report.first.empty() && !is_banner(said)) {
      report.first = printable(std::string(said));
    }
  }
  if (!report.worked) report.first = printable(last);
  return report;
}

bool sanitized_library::worked() const {
  return std::ranges::all_of(tools, &tool_report::worked);
}

bool sanitized_library::is_seen() const {
  return std::ranges::any_of(tools, [](const tool_report& t) { return t.errors > 0; });
}

std::vector<fs::path> sanitized_cases(const fs::path& corpus, const std::string& kernel, const std::string& types,
                                      std::size_t most) {
  std::vector<std::pair<std::uintmax_t, fs::path>> found;
  for (const fs::path& file : files_below(corpus, ".json")) {
    const attention_case c = from_json(read_file(file), file.string());
    if ((!kernel.empty() && c.kernel != kernel) || (!types.empty() && types_of(c) != types)) continue;
    found.emplace_back(fs::file_size(file), file);
  }
  std::ranges::sort(found);
  std::vector<fs::path> files;
  for (const auto& [size, file] : found)
    if (files.size() < most) files.push_back(file);
  return files;
}

sanitized_library run_tools(const std::string& name, const fs::path& library, const std::vector<fs::path>& cases,
                            const sanitizer_options& options, const std::function<void(const std::string&)>& begin) {
  sanitized_library made{name, cases.size(), {}};
  fs::create_directories(options.logs);
  for (std::size_t i = 0; i < sanitizer_tools.size(); ++i) {
    begin(sanitizer_tools[i]);
    const fs::path log = options.logs / fmt::format("{}.{}.txt", name, sanitizer_tools[i]);
    command what{{options.sanitizer.string(), "--tool", sanitizer_tools[i], "--target-processes", "all",
                  options.program.string(), "replay", "--library", library.string(), "--jobs", "1", "--property",
                  "output_enclosed", "--limit", "300"},
                 {},
                 log};
    for (const fs::path& file : cases) what.arguments.push_back(file.string());
    const child_end end = run_child(what, options.limit_seconds);
    made.tools[i] = read_tool_report(read_file(log));
    constexpr int killed_at_the_limit = 124;
    if (end.status != killed_at_the_limit) continue;
    made.tools[i].worked = false;
    made.tools[i].first = fmt::format("did not end within {:g} s", options.limit_seconds);
  }
  return made;
}

bool is_clean(const std::vector<sanitized_library>& all) {
  return std::ranges::all_of(
      all, [](const sanitized_library& l) { return l.worked() && (l.name != "none" || !l.is_seen()); });
}

fs::path find_compute_sanitizer() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / "compute-sanitizer";
    if (std::error_code unknown; fs::is_regular_file(file, unknown) && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace assay
