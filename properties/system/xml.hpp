/// Text in XML.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// For an attribute or element. Control characters, which XML 1.0 cannot hold, become '?'.
std::string xml_text(std::string_view text);

}  // namespace assay
