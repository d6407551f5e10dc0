/// The numbers behind the pictures of one case. Plain data of bounded size, so that they can cross from the process
/// that ran the kernel.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "properties/explain/error_map.hpp"
#include "properties/explain/exact_distance.hpp"
#include "properties/explain/page_use.hpp"

namespace assay {

struct case_pictures {
  std::vector<error_map> maps;      ///< up to two outputs: results first, and of them what lies outside
  std::vector<ulp_histogram> ulps;  ///< of the same outputs, where they have an exact value
  page_use pages;
  std::string none;  ///< why there are no maps: the run ended before its outputs were judged
};
BOOST_DESCRIBE_STRUCT(case_pictures, (), (maps, ulps, pages, none))

/// The pictures of a finding.
struct finding_pictures {
  case_pictures smallest;            ///< of the shrunk case
  std::optional<case_pictures> met;  ///< of the larger case of the run, where that ran through, too
};

/// Of a case that ran. Evaluates the exact result.
case_pictures picture(const attention_case& c, const detailed_run& run);

std::string to_json(const case_pictures& pictures);
/// Reads what to_json wrote, perhaps long ago and on another machine. Throws std::exception, also where the numbers do
/// not fit together, so that what draws them need not ask.
case_pictures pictures_from_json(const std::string& text);

}  // namespace assay
