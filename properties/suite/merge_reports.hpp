/// The JSON reports of a run's shards as one report.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "properties/suite/report.hpp"
#include "properties/suite/suite.hpp"

namespace assay {

/// A report read from a file: the arguments of report_text, report_json and report_junit.
struct suite_report {
  std::string library;  ///< its path
  std::string platform;
  suite_options options;  ///< those that reports hold
  suite_result result;
  page_extras extras;
  std::string file;  ///< where it was read from
  /// "1.json" or "1.json and 3 others" whose findings have no pictures: reports of older versions.
  std::string without_pictures;
};

/// Reads what report_json wrote. `origin` (a file name) begins every error. Throws case_error.
suite_report read_report(std::string_view text, std::string_view origin);

/// The report of the whole run, with all that a page shows, as if it had had no shards. Only times differ: `seconds` is
/// that of the slowest shard, and `jobs` and the other times are sums. A kind of failure that several shards met
/// appears once, with its first case and the pictures of that. Throws case_error unless the reports are all the shards
/// of one run, each once. The message names the files and where they differ.
suite_report merge_reports(std::span<const suite_report> shards);

}  // namespace assay
