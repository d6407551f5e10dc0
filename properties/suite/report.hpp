/// Reports of a run, for people, for programs and for continuous integration.
#pragma once

#include <boost/json/value_from.hpp>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "properties/explain/case_pictures.hpp"
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

/// "DEFECT: 3 of 100 cases failed, in 1 way", "NOT VERIFIED: ...", "verified: 2000 cases, no defect".
std::string verdict_line(const suite_options& options, const suite_result& result);

/// "97%" of the places at which a fault was asked for, "-" without any; never 100% where one was missed, never 0% where
/// one was seen.
std::string seen_text(const bite& b);

/// "1 sequence, 1 query, 65 keys, 1 head".
std::string shape_text(const attention_case& c);

/// How a finding came about: "case 2 of seed 3, shrunk in 41 steps (195 tries) to 1 sequence, ...; 30 cases failed like
/// this", or that it is flaky.
std::string history_text(const suite_options& options, const finding& f);

/// The JSON of a case, but of thousands of sequences only the beginning, and of lines longer than `most_columns` (0: no
/// limit), if `file` has all.
std::string case_text(const attention_case& c, const std::filesystem::path& file, std::size_t most_columns);

/// One finding: the property that failed, what is wrong and where, the shrunk case, and the line that replays it.
std::string finding_text(const suite_options& options, const finding& f, std::size_t most_columns = 0);

/// What a page shows beside options and result.
struct page_extras {
  std::string devices;                                ///< library::devices()
  std::map<std::int64_t, finding_pictures> pictures;  ///< of findings, by the number of their case
};

/// "nvidia kernels of lib/x.so on 1 x NVIDIA H100, seed 3".
std::string heading_text(const std::string& path, const std::string& platform, const std::string& devices,
                         std::uint64_t seed);

/// The report as JSON with stable keys, version 1. Names the library by path and platform.
std::string report_json(const std::string& path, const std::string& platform, const suite_options& options,
                        const suite_result& result, const page_extras& extras = {});

/// JUnit XML: a suite per kernel, a test case per property.
std::string report_junit(const suite_options& options, const suite_result& result);

/// The line that replays a file; `arguments` as suite_options::library_arguments.
std::string replay_line(const std::string& arguments, const std::filesystem::path& file);

/// {"pass": .., "fail": .., "discard": .., "undecided": ..}
void tag_invoke(const boost::json::value_from_tag&, boost::json::value& to, const counts& c);

}  // namespace assay
