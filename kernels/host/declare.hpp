/// The part of a contract that all kernels of a platform share.
#pragma once

#include "kernels/contract.hpp"

namespace assay {

/// Sets the error bounds of exp2, exp, log and tanh of kernels/device: those of the platform that this is compiled for.
void declare_functions(contract& c);

/// The same for kernels that call exp2f, expf, logf and tanhf themselves: on the cpu platform those of glibc.
void declare_libm(contract& c);

}  // namespace assay
