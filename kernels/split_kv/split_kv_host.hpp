/// The host side of split_kv, as the registry takes it.
#pragma once

#include "kernels/library.hpp"

namespace assay {

extern const assay_kernel split_kv_kernel;

}  // namespace assay
