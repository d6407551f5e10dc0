/// The pages of `run`, `replay` and `explain`.
#pragma once

#include <string>

#include "properties/html/finding_section.hpp"
#include "properties/suite/replay_cases.hpp"

namespace assay::html {

/// Findings of a page, in full as far as there is room (in bytes), then by name. Empty without any.
std::string findings_section(const std::vector<reported_finding>& findings, const source_finder& sources,
                             const std::vector<finding_pictures>& pictures, std::size_t room);

/// A run. `heading`: "cpu kernels of X.so, seed 3".
std::string run_page(const std::string& heading, const suite_options& options, const suite_result& result,
                     const std::vector<reported_finding>& findings, const source_finder& sources,
                     const std::vector<finding_pictures>& pictures);

/// Stored cases run again.
std::string replay_page(const std::string& heading, const suite_result& result, const std::vector<replayed_case>& cases,
                        const std::vector<reported_finding>& findings, const source_finder& sources,
                        const std::vector<finding_pictures>& pictures);

/// One case, explained. `story` is what explain() says of it; `f` has the verdict's words where it failed.
struct case_report {
  std::string heading;
  verdict result;
  reported_finding f;
  std::string story;
  case_pictures pictures;
};
std::string case_page(const case_report& report, const source_finder& sources);

}  // namespace assay::html
