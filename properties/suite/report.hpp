/// Reports of a run, for people, for programs and for continuous integration.
#pragma once

#include <boost/json/value_from.hpp>
#include <cstddef>
#include <filesystem>
#include <string>

#include "properties/suite/suite.hpp"

namespace assay {

/// The table of what ran, the discards by reason, the findings, and the verdict in one line. Of a
/// case's lines that are longer than `most_columns` only the beginning is shown, where a file has them; 0: all.
std::string report_text(const suite_options& options, const suite_result& result, std::size_t most_columns = 0);

/// The standard faults: for each kernel and its types the share of places at which the judge saw them.
std::string teeth_text(const suite_result& result);

/// How many of the possible pairs of features the run met; empty for a short run.
std::string pairs_text(const suite_options& options, const suite_result& result);

/// What a run lacks before it counts as verified, a line each; empty if nothing.
std::string missing_text(const suite_options& options, const suite_result& result);

/// One finding: the property that failed, what is wrong and where, the shrunk case, and the line that replays it.
std::string finding_text(const suite_options& options, const finding& f, std::size_t most_columns = 0);

/// The report as JSON with stable keys, version 1. Names the library by path and platform.
std::string report_json(const std::string& path, const std::string& platform, const suite_options& options,
                        const suite_result& result);
std::string report_json(const library& lib, const suite_options& options, const suite_result& result);

/// JUnit XML: a suite per kernel, a test case per property.
std::string report_junit(const suite_options& options, const suite_result& result);

/// The line that replays a file; `arguments` as suite_options::library_arguments.
std::string replay_line(const std::string& arguments, const std::filesystem::path& file);

/// {"pass": .., "fail": .., "discard": .., "undecided": ..}
void tag_invoke(const boost::json::value_from_tag&, boost::json::value& to, const counts& c);

}  // namespace assay
