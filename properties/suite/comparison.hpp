/// Two libraries on the same cases: how far their outputs agree, element by element. Each keeps its own verdict.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "oracle/enclosure.hpp"
#include "properties/suite/suite.hpp"

namespace assay {

/// Elements of one output.
struct agreement_counts {
  std::int64_t elements = 0;
  std::int64_t same_bits = 0;    ///< also two NaNs where both enclosures admit one
  std::int64_t within_both = 0;  ///< other bits, and each value lies in both enclosures
  std::int64_t across = 0;       ///< other bits, and a value lies outside of one of the enclosures
  std::int64_t unbounded = 0;    ///< other bits, of an element that neither enclosure bounds
  std::int64_t apart = 0;        ///< no value lies in both enclosures; counted beside the four above
  agreement_counts& operator+=(const agreement_counts& other);
};

/// Two outputs of one name, and the enclosures that they must lie in. Throws std::invalid_argument for another shape.
agreement_counts compare_outputs(const oracle::enclosed_tensor& first_bounds, const tensor& first,
                                 const oracle::enclosed_tensor& second_bounds, const tensor& second);

/// A case on which libraries differ in more than bits.
struct compared_case {
  std::string name;       ///< "case 12", or a file
  std::string what;       ///< "cpu: pass, nvidia: fail"
  attention_case stored;  ///< its `why` says the same
};

struct library_comparison {
  std::int64_t cases = 0;       ///< on which both ran
  std::int64_t uncompared = 0;  ///< on which one did not: its own report says why
  std::int64_t lost = 0;        ///< whose process ended, which could not be compared, or on which one alone has outputs
  std::vector<std::string> first_lost;  ///< "case 7 of seed 1: killed by signal 6", the first few
  std::map<std::tuple<std::string, std::string, std::string>, agreement_counts> table;  ///< kernel, types, output
  std::vector<compared_case> findings;
  double seconds = 0;
  std::vector<std::string> libraries;  ///< by platform and path
};

/// The cases to compare on.
struct cases_to_compare {
  std::function<std::optional<std::string>()> next;        ///< a request for one more, until there is none
  std::function<std::string(const std::string&)> name;     ///< of the case of a request, as reports say it
  std::function<attention_case(const std::string&)> read;  ///< the case of a request; called in a worker
};

/// Runs the cases on the first library and then on each of the others, and compares the others with it. Loads and
/// stores are not checked.
/// A finding is a case that one passes and the other fails. Enclosures that are apart are counted: contracts that round
/// other things, other splits or another base of LSE explain them.
library_comparison compare_libraries(const std::vector<std::shared_ptr<library>>& libraries, int jobs,
                                     double limit_seconds, const cases_to_compare& from);

/// Why a comparison says too little: no case was compared, or more than a few were lost. Else empty.
std::string comparison_shortfall(const library_comparison& c);

/// Those that a report shows.
std::span<const compared_case> first_findings(const library_comparison& c);

/// The table, and the first findings.
std::string comparison_text(const library_comparison& c);
boost::json::object comparison_json(const library_comparison& c);

}  // namespace assay
