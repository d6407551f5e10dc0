/// The style of a page: one sheet, in light and dark, for screens of any width and for paper.
#pragma once

#include <string_view>

namespace assay::html {

std::string_view style_sheet();

/// "sha256-...": the sheet's hash, the only style that the page's Content-Security-Policy admits. A test compares it
/// with what sha256sum computes.
std::string_view style_hash();

}  // namespace assay::html
