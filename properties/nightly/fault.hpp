/// Planted faults: patches of the kernels (tests/faults/NAME.patch). The head of each names the checks that must catch
/// it. Each is built as a library of its own, lib/fault_NAME.so.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace assay {

/// The head of a patch: the lines before its first "---".
struct fault {
  std::string name;
  std::string summary;  ///< the lines without a key, joined
  /// "Caught-by: <origin>[, <origin>...]": origins of verdicts, without the access checker; empty: only that
  /// can catch it
  std::set<std::string> caught_by;
  std::string checker;              ///< "Checker: <origin>": what the checker of loads and stores must report
  std::string line;                 ///< "Line: <path>: <text>": the line to report; empty: any line that the patch adds
  std::string kernel = "split_kv";  ///< "Kernel: <name>"
  std::string types = "f16";        ///< "Types: <types>": the only combination that is built
  int heads = 1;                    ///< "Heads: <n>": query heads of the smallest failing case
  int cases = 700;                  ///< "Cases: <n>": how many cases the suite may need
  int seed = 1;                     ///< "Seed: <n>": of its test, which it keeps short; other seeds may need all cases
  bool races = false;               ///< "Races: yes": blocks write the same element, so some findings are flaky
  // NOLINTBEGIN(readability-redundant-member-init): may be left out
  std::string says = {};  ///< "Says: <words>": of the exception, where Caught-by names that
  // Of faults that an upstream project had. `upstream` empty: the fault is our own, and the others are empty, too.
  std::string upstream = {};  ///< "Upstream: <project and number> <link>"
  std::string mistake = {};   ///< "Mistake: <one line>"
  std::string smallest = {};  ///< "Smallest: <one line>": the smallest case that shows it, as a run printed it
  std::string seconds = {};   ///< "Seconds: <number>": processor time of a run that finds it, measured once
  // NOLINTEND(readability-redundant-member-init)
};

/// Reads a patch's head. Throws case_error that names the file and the error.
fault read_fault(const std::filesystem::path& patch);

/// The heads of all patches in a folder, sorted by name. Throws environment_error if it contains none.
std::vector<fault> read_faults(const std::filesystem::path& folder);

/// The faults of upstream projects as a table in Markdown, in the order of their reports.
std::string upstream_markdown(const std::vector<fault>& faults);

}  // namespace assay
