/// A night: stages that ran one after the other, and what they said. Plain data, with its JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A failure that a stage reported.
struct night_finding {
  std::string stage;
  std::string kernel;  ///< of the case; empty where the stage says which
  std::string origin;
  std::string what;
  std::string file;    ///< the case; may be empty
  std::string replay;  ///< the line that shows it again; may be empty
  /// Equal for findings of one kind (properties/campaign/kinds.hpp) in one kernel, on different nights and by whichever
  /// stage that says its kernel.
  std::string key() const;
};

/// "verified", "DEFECT", "ended by signal 9": what a stage's status means.
std::string status_text(int status);

/// The stage that replays what the properties found on nights before.
inline constexpr const char* old_findings_stage = "old findings";

/// One command of the program.
struct night_stage {
  std::string name;
  std::vector<std::string> arguments;
  int status = 0;  ///< exit status; 128 + n: ended by signal n; 124: took too long
  double seconds = 0;
  std::map<std::string, double> numbers;  ///< what is compared with other nights; more is better
  std::vector<night_finding> findings;
  std::string log;        ///< file of what it printed
  bool reported = false;  ///< `findings` are all that it found; otherwise it may have found what is not there
};

struct night {
  std::string started;  ///< UTC, "2026-11-21T03:00:00Z"
  double minutes = 0;   ///< as asked for
  std::uint64_t seed = 0;
  std::vector<night_stage> stages;
  bool is_clean() const;  ///< every stage exited with 0
};

std::string to_json(const night& n);
/// Throws case_error, naming `origin`, for what to_json did not write.
night night_from_json(const std::string& text, const std::string& origin);

}  // namespace assay
