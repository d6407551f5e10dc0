/// What a run found, for people, for programs and for continuous integration.
#pragma once

#include <string>

#include "properties/suite/suite.hpp"

namespace assay {

/// The table of what ran, the discards by reason, the findings, and the verdict in one line.
std::string report_text(const suite_options& options, const suite_result& result);

/// One failure: the broken sentence, what is wrong and where, the shrunk case, and the line that replays it.
std::string finding_text(const suite_options& options, const finding& f);

/// The same as JSON; stable keys, version 1. The library by its path and platform.
std::string report_json(const std::string& path, const std::string& platform, const suite_options& options,
                        const suite_result& result);
std::string report_json(const library& lib, const suite_options& options, const suite_result& result);

/// JUnit XML: a suite per kernel, a test case per property.
std::string report_junit(const suite_options& options, const suite_result& result);

/// The line that replays a file.
std::string replay_line(const suite_options& options, const finding& f);

}  // namespace assay
