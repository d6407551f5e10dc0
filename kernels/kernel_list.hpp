/// The list of kernels. The registry, the case space and the tests read it, and their reports keep its order.
#pragma once

#include "kernels/library.h"

// X(NAME): the folder kernels/NAME defines NAME_kernel (what the library offers), and properties/generate/walk_NAME.cpp
// defines NAME_space (the kernel's cases).
#define ASSAY_KERNELS(X) \
  X(split_kv)            \
  X(batch_prefill)       \
  X(mqa_logits)          \
  X(append_kv)

namespace assay {

#define ASSAY_DECLARE_KERNEL(name) extern const assay_kernel name##_kernel;
ASSAY_KERNELS(ASSAY_DECLARE_KERNEL)
#undef ASSAY_DECLARE_KERNEL

}  // namespace assay
