/// The JSON reports of a run's shards as one report.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "properties/suite/suite.hpp"

namespace assay {

/// A report that was read back: what report_text, report_json and report_junit take.
struct suite_report {
  std::string library;  ///< its path
  std::string platform;
  suite_options options;  ///< what was asked for; selected, seed, jobs, shard, shards, library
  suite_result result;
  std::string file;  ///< that it was read from
};

/// Reads what report_json wrote. `origin` (a file name) begins every error. Throws case_error.
suite_report read_report(std::string_view text, std::string_view origin);

/// The report that the run would have given without shards, but for times: `seconds` is the longest of a shard, and
/// `jobs` and the other times are sums. A kind of failure that several shards met is told once, by its first case.
/// Throws case_error unless the reports are all the shards of one run, each once: one library with the same options,
/// one seed, and the same asked of each. It names the files and what they differ in.
suite_report merge_reports(std::span<const suite_report> shards);

}  // namespace assay
