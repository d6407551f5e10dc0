/// A night: the stages that ran one after the other, and their results. Plain data, with its JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A failure that a stage reported.
struct night_finding {
  std::string stage;
  std::string kernel;  ///< of the case; may be empty
  std::string origin;
  std::string what;
  std::string file;    ///< the case; may be empty
  std::string replay;  ///< the command that repeats it; may be empty
  /// Equal for findings of one kind (properties/campaign/kinds.hpp) in one kernel, on all nights and in all stages that
  /// name the kernel.
  std::string key() const;
};

/// The meaning of a stage's status: "verified", "DEFECT", "ended by signal 9".
std::string status_text(int status);

/// The stage that replays what the properties found on earlier nights.
inline constexpr const char* old_findings_stage = "old findings";

/// One command of the program.
struct night_stage {
  std::string name;
  std::vector<std::string> arguments;
  int status = 0;  ///< exit status; 128 + n: ended by signal n; 124: took too long
  double seconds = 0;
  std::map<std::string, double> numbers;  ///< compared between nights; more is better
  std::vector<night_finding> findings;
  std::string log;        ///< the file with its output
  bool reported = false;  ///< it wrote a report, so `findings` are complete
  /// Why it did not run; empty: it ran.
  std::string left_out = {};  // NOLINT(readability-redundant-member-init): may be left out
};

struct night {
  std::string started;  ///< UTC, "2026-11-21T03:00:00Z"
  double minutes = 0;   ///< as asked for
  std::uint64_t seed = 0;
  std::vector<night_stage> stages;
  std::string platform = "cpu";  ///< beside the cpu kernels, those that the night was for
  bool is_clean() const;         ///< every stage exited with 0
};

std::string to_json(const night& n);
/// Reads what to_json wrote. Throws case_error, which begins with `origin`.
night night_from_json(const std::string& text, const std::string& origin);

}  // namespace assay
