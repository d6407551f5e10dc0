/// The host side of mqa_logits, as the registry takes it.
#pragma once

#include "kernels/library.hpp"

namespace assay {

extern const assay_kernel mqa_logits_kernel;

}  // namespace assay
