/// The part of a contract that all kernels of a platform share.
#pragma once

#include "kernels/contract.hpp"

namespace assay {

/// Sets the error bounds of exp2, log and tanh: those of the platform that this is compiled for.
void declare_functions(contract& c);

}  // namespace assay
