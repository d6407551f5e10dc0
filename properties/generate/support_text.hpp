/// What a kernel takes, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/case/support.hpp"

namespace assay {

/// One line without the kernel's name: "f16 and bf16, head dim 128, pages of 16, group 1 to 8, causal, block tables".
/// Of a kernel that lacks little: "..., everything but windows". `types`: those to name.
std::string support_line(std::string_view kernel, const assay_support& takes, const std::vector<std::string>& types);

/// The same in several lines, each with an indent, for a list. The last one has the fields of support.h.
std::string support_list(std::string_view kernel, const assay_support& takes);

}  // namespace assay
