/// The host side of batch_prefill, as the registry takes it.
#pragma once

#include "kernels/library.hpp"

namespace assay {

extern const assay_kernel batch_prefill_kernel;

}  // namespace assay
