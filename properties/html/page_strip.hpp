/// The pool's pages as a strip: which are used, shared and dead.
#pragma once

#include <string>

#include "properties/explain/page_use.hpp"

namespace assay::html {

/// A cell per page, filled from the left as far as its slots are live.
std::string page_strip_svg(const page_use& use);

/// The strip with its words, and the page tables as a table. Empty for a case without pages.
std::string page_figure(const page_use& use);

}  // namespace assay::html
