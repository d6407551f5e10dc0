/// Reads JSON text, with checks that Boost.JSON leaves out.
#pragma once

#include <string_view>

#include <boost/json.hpp>

namespace assay {

/// Parses one JSON value. Throws case_error "LINE:COLUMN: what" for malformed text, trailing text, nesting deeper than
/// 16, and a repeated field in one object (Boost.JSON would keep the last).
boost::json::value parse_json(std::string_view text);

}  // namespace assay
