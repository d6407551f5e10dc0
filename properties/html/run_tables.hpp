/// The tables of a run.
#pragma once

#include <string>

#include "properties/suite/suite.hpp"

namespace assay::html {

/// A table for each kernel: a row for each property and a last one for all, with cases by type and by verdict.
std::string count_tables(const suite_options& options, const suite_result& result);

/// A table for each kernel: what share of the places of each standard fault the run would have seen, by types. Shares
/// below sufficiency's least are marked.
std::string teeth_tables(const suite_result& result);

/// The slowest cases.
std::string slowest_table(const suite_result& result);

/// Cases with each reachable thing, by kernel; and the share of pairs of features.
std::string coverage_tables(const suite_options& options, const suite_result& result);

/// Discards by reason, properties left out, undecided cases, accepted defects.
std::string remarks(const suite_options& options, const suite_result& result);

/// Elements, residuals, accesses and times.
std::string effort_table(const suite_options& options, const suite_result& result);

}  // namespace assay::html
