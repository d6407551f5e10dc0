/// The host's check of tensors against what a kernel declares that it takes: what unsupported.hpp cannot see.
#pragma once

#include "kernels/host/bind.hpp"
#include "kernels/support.h"

namespace assay {

/// Words for what the tensors of attention show and the kernel does not take ("sinks", "HND pools"), or nullptr.
/// Strides of dimensions of one element do not count. It does not look into the data, which may be on a device.
const char* unsupported(const assay_support& takes, const attention_tensors& tensors);

}  // namespace assay
