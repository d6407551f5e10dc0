/// The element types of a case as one word, as tables and --types have it.
#pragma once

#include <string>

#include "properties/case/case.hpp"

namespace assay {

/// "f16", "f16/e4m3fn", "e4m3fn:bf16": the type of Q, that of K and V where it differs, that of O where it does.
std::string types_text(dtype q, dtype kv, dtype o);
std::string types_of(const attention_case& c);

}  // namespace assay
