/// Which properties catch which planted faults: the suite run on every faulty library.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "properties/nightly/fault.hpp"
#include "properties/suite/suite.hpp"

namespace assay {

/// What the suite made of one faulty library.
struct fault_row {
  fault planted;
  std::map<std::string, counts> caught;   ///< what became of the cases of each property that some of them failed
  std::set<std::string> origins;          ///< named ones, if they came again; loads and stores were not checked
  std::set<std::string> checker_origins;  ///< the same when they were, for faults that name one
  bool names_place = false;               ///< whether such a report named a place that is expected of it
  std::int64_t cases = 0;                 ///< that were run
  double seconds = 0;
  /// Whether every check that the patch names caught it.
  bool is_caught() const;
};

/// Runs all properties on the library, without checks of loads and stores, on a quarter of the cases that the fault may
/// need and, where these do not show it, on all; if the fault names what these checks report, the first property with
/// them, whose report has to name one of `places` (fault_places.hpp). `options` gives seed, jobs, limits and the folder
/// for findings.
fault_row try_fault(library& faulty, const fault& planted, const std::vector<std::string>& places,
                    const suite_options& options);

/// A line per fault: whether it was caught as its patch says, by which checks, and which share of each property's cases
/// failed.
std::string fault_matrix_text(const std::vector<fault_row>& rows);

/// The same as JSON; stable keys, version 1.
std::string fault_matrix_json(const std::vector<fault_row>& rows, const suite_options& options);

}  // namespace assay
