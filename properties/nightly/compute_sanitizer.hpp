/// What the tools of NVIDIA's compute-sanitizer say of kernels while stored cases run: of sound ones and of each
/// planted fault.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The tools, in the order of the table.
inline constexpr std::array<const char*, 4> sanitizer_tools{"memcheck", "racecheck", "initcheck", "synccheck"};

/// What one tool said of one library.
struct tool_report {
  bool worked = false;      ///< it ran to its end and summed up
  std::int64_t errors = 0;  ///< of all processes
  std::string first;        ///< its first complaint; of a tool that did not work, its last line
};

/// Reads what a tool wrote: "========= Invalid __global__ read of size 4 bytes", "========= ERROR SUMMARY: 1 error".
tool_report read_tool_report(std::string_view log);

/// A library under all tools.
struct sanitized_library {
  std::string name;  ///< of the fault; "none": the sound kernels
  std::size_t cases = 0;
  std::array<tool_report, sanitizer_tools.size()> tools;
  bool worked() const;
  bool is_seen() const;  ///< by some tool
};

/// How tools are run.
struct sanitizer_options {
  std::filesystem::path sanitizer;  ///< compute-sanitizer
  std::filesystem::path program;    ///< this one
  std::filesystem::path logs;       ///< NAME.TOOL.txt each; made if missing
  double limit_seconds = 1200;      ///< for one tool on one library
};

/// The case files below the folder, smallest first: of this kernel and these types, or all where they are empty; at
/// most so many. Throws case_error.
std::vector<std::filesystem::path> sanitized_cases(const std::filesystem::path& corpus, const std::string& kernel,
                                                   const std::string& types, std::size_t most);

/// Replays the cases under each tool, one process at a time. A library whose processes end by themselves, as after an
/// error of the device, counts by what the tool said before.
sanitized_library run_tools(const std::string& name, const std::filesystem::path& library,
                            const std::vector<std::filesystem::path>& cases, const sanitizer_options& options,
                            const std::function<void(const std::string& tool)>& begin);

/// A line per library: which tool sees it, and its first complaint.
std::string sanitizer_text(const std::vector<sanitized_library>& all);

/// The same as JSON; stable keys, version 1. Complaints about the sound kernels, and tools that did not work, are
/// findings.
std::string sanitizer_json(const std::vector<sanitized_library>& all);

/// No complaint about the sound kernels, and every tool worked.
bool is_clean(const std::vector<sanitized_library>& all);

/// compute-sanitizer on PATH; empty if there is none.
std::filesystem::path find_compute_sanitizer();

}  // namespace assay
