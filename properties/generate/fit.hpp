/// Cases within what a kernel takes.
#pragma once

#include <string>
#include <string_view>

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"

namespace assay {

/// The case that is near to a valid one and within the support: nothing is discarded. Field by field: features that the
/// kernel lacks go, types are one of its own by the case's seed, sizes become the nearest that it takes, extents are
/// cut, and page lists follow. A case within the support stays as it is, so fit(fit(c)) == fit(c). The result is valid.
/// Where no case is within the support (impossible_support() says so) the case stays as it is.
attention_case fit(const attention_case& c, const assay_support& s);

/// The smallest case of the kernel within its support. Its pages are in order and its data plain. Throws case_error
/// that says what no case can have, where there is none.
attention_case smallest_case(std::string_view kernel, const assay_support& s);

/// Why no case of the kernel is within its support; empty if some are.
std::string impossible_support(std::string_view kernel, const assay_support& s);

}  // namespace assay
