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

/// 1 if there is a finding, of this campaign or of one before, that fails, or if nothing was executed; else 0.
int exit_status(const result& came);

}  // namespace assay::campaign
