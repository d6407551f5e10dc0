/// The host side of append_kv, as the registry takes it.
#pragma once

#include "kernels/library.hpp"

namespace assay {

extern const assay_kernel append_kv_kernel;

}  // namespace assay
