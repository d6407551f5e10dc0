/// A problem's scalars for programs that read no C++.
#pragma once

#include <boost/json/object.hpp>

#include "kernels/problem.hpp"

namespace assay {

/// All scalars by their names in problem.hpp; types and kinds by name, `causal` and `fills_hidden` as booleans.
boost::json::object problem_to_json(const problem& p);

}  // namespace assay
