/// The numbers behind a finding's pictures: the case runs once more, in a process of its own.
#pragma once

#include "properties/explain/case_pictures.hpp"
#include "properties/suite/reported_finding.hpp"

namespace assay::html {

/// Of the first findings only: each costs a run and kilobytes.
inline constexpr std::size_t most_pictured = 8;

/// Of a case; without maps, and with the reason, where the run ends the process.
case_pictures isolated_pictures(const library& lib, const attention_case& c, double limit_seconds);

/// For each of the first most_pictured findings.
std::vector<finding_pictures> picture_findings(const library& lib, const std::vector<reported_finding>& findings,
                                               double limit_seconds);

}  // namespace assay::html
