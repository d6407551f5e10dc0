/// The report of a campaign, for people and for programs.
#pragma once

#include <string>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// The finding in one line.
std::string finding_line(const finding& f);

/// Speed, growth, counters, findings with the lines that replay them, and the verdict in one line.
std::string report_text(const options& given, const result& done);

/// The same as JSON; stable keys, version 1.
std::string report_json(const options& given, const result& done);

/// Share of the runs that must pass or fail. The suite demands 90% (suite.hpp); a fuzzer's corpus collects odd cases,
/// since they reach other edges.
constexpr double min_decided_share = 0.5;

/// Why a campaign without a finding verified too little, in one line; empty if it verified enough. Reasons: inputs that
/// ended a process were not examined; nothing was executed; too few of the runs that the target counted were decided,
/// of one library's where two judge. A target that counts no runs passes.
std::string shortfall(const result& done);

/// 1 if a finding of this or an earlier campaign fails, or if there is a shortfall; else 0.
int exit_status(const result& done);

}  // namespace assay::campaign
