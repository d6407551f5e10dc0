/// What a campaign came to, for people and for programs.
#pragma once

#include <string>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

/// The finding in one line, as it is told when it is made.
std::string finding_line(const finding& f);

/// Speed, growth, counters, findings with the lines that replay them, and the verdict in one line.
std::string report_text(const options& given, const result& came);

/// The same as JSON; stable keys, version 1.
std::string report_json(const options& given, const result& came);

/// Share of the runs that must pass or fail. Of the suite's cases 90% must (suite.hpp); a corpus gathers odd ones, as
/// they reach other edges.
constexpr double min_decided_share = 0.5;

/// Why a campaign without a finding has verified nothing all the same, in one line; empty if it has: inputs that
/// ended a process were not looked into, nothing was executed, or too few of the runs that the target counted were
/// decided. Targets that count none are believed.
std::string shortfall(const result& came);

/// 1 if there is a finding, of this campaign or of one before, that fails, or if there is a shortfall; else 0.
int exit_status(const result& came);

}  // namespace assay::campaign
