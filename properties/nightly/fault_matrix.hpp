/// Which properties catch which planted faults: the suite run on every faulty library.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "properties/nightly/fault.hpp"
#include "properties/suite/suite.hpp"

namespace assay {

/// What the suite reported about one faulty library.
struct fault_row {
  fault planted;
  // The run of all properties, loads and stores unchecked.
  std::map<std::string, counts> caught;  ///< for each property with failing cases: its counts
  std::vector<finding> findings;
  std::set<std::string> origins;  ///< of the findings that reproduced
  // The run of the enclosure, loads and stores checked; only for faults that name a checker's report.
  std::vector<finding> checker_findings;
  std::set<std::string> checker_origins;  ///< of the findings that reproduced
  bool names_place = false;               ///< whether the expected report named one of the expected places
  bool by_any_check = false;  ///< judged by less than the declared contract, or on a device: every check counts
  std::int64_t cases = 0;     ///< of both runs
  double seconds = 0;
  /// Whether every check that the patch names caught the fault.
  bool is_caught() const;
};

/// Runs all properties on the library, with loads and stores unchecked. Then, if the fault names a report of the
/// checker, runs the enclosure with loads and stores checked; that report must name one of `places` (fault_places.hpp).
/// Each run takes a sixteenth of the fault's cases; if these do not catch it, a quarter, then all of them. `options`
/// gives seed, jobs, limits and the folder for findings.
fault_row try_fault(library& faulty, const fault& planted, const std::vector<std::string>& places,
                    const suite_options& options);

/// A line per fault: whether the checks that its patch names caught it, which checks did, and which share of each
/// property's cases failed.
std::string fault_matrix_text(const std::vector<fault_row>& rows);

/// The same as JSON; stable keys, version 1.
std::string fault_matrix_json(const std::vector<fault_row>& rows, const suite_options& options);

}  // namespace assay
