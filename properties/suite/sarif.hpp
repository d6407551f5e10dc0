/// Findings as SARIF 2.1.0, for code scanning: GitHub shows each at the kernel's line.
#pragma once

#include <string>
#include <vector>

#include "properties/suite/reported_finding.hpp"
#include "properties/suite/source_lines.hpp"

namespace assay {

/// A rule for each property and kind of check among the findings, and a result for each finding, at the first line of
/// source that its message names and `sources` has. Without one the result is at the library's file, or at the case's
/// where the kernels are built in. The case is an attachment and a related location. Fingerprints do not depend on
/// seeds, line numbers and values. Paths below the current folder are relative to it, as GitHub asks.
std::string report_sarif(const std::string& library, const std::vector<reported_finding>& findings,
                         const source_finder& sources);

}  // namespace assay
