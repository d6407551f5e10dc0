/// What a kernel takes, as the designated initialisers of kernels/support.h.
#pragma once

#include <string>

#include "properties/case/support.hpp"

namespace assay {

/// ".head_dims = {.values = {128}}, .no_window = 1": the fields that restrict something, to be copied into a source.
/// Empty for none.
std::string support_fields(const assay_support& takes);

}  // namespace assay
