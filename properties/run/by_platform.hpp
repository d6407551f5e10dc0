/// Two libraries judge one case: which of them says what.
#pragma once

#include <string_view>

#include "properties/run/verdict.hpp"

namespace assay {

/// The verdict, named by platform: its `what` begins with "nvidia: ".
verdict by_platform(const library& lib, verdict v);

/// Whether by_platform() of this library made the line.
bool is_by_platform(const library& lib, std::string_view what);

}  // namespace assay
