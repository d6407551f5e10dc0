/// Findings as reports show them: the one form for those of a run and those of replayed cases.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "properties/suite/replay_cases.hpp"
#include "properties/suite/suite.hpp"

namespace assay {

struct reported_finding {
  std::string kernel;
  std::string types;                  ///< types_of() the case
  std::string property;               ///< that failed
  std::string sentence;               ///< its claim
  std::string origin;                 ///< which check decided, as verdict::origin
  std::string what;                   ///< what is wrong and where, one line
  std::string hint;                   ///< verdict::hint
  std::string first_load;             ///< verdict::first_load
  std::string history;                ///< how the case came about, one line
  bool is_flaky = false;              ///< it did not fail when it was repeated
  std::vector<std::string> also;      ///< other properties that end with the same failure
  std::filesystem::path file;         ///< of the case; empty where it could not be written
  std::string replay;                 ///< the command that repeats it; empty without a file
  std::string explain;                ///< the command that explains it; empty without a file
  attention_case smallest;            ///< the case
  std::optional<attention_case> met;  ///< the larger case of the run that was shrunk to it
};

/// The findings of a run.
std::vector<reported_finding> reported_findings(const suite_options& options, const suite_result& result);

/// Of replayed cases, a finding for each failure; properties that end with the same one are named together.
/// `library_arguments` as suite_options::library_arguments.
std::vector<reported_finding> reported_findings(const std::string& library_arguments,
                                                const std::vector<replayed_case>& cases);

}  // namespace assay
