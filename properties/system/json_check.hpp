/// JSON text to a value, with the checks that Boost.JSON leaves out.
#pragma once

#include <string_view>

#include <boost/json.hpp>

namespace assay {

/// Parses one JSON value. Throws case_error "LINE:COLUMN: what" for malformed text, trailing text, nesting deeper than
/// 16, and a field given twice in one object (Boost.JSON would keep the last).
boost::json::value parse_json(std::string_view text);

}  // namespace assay
