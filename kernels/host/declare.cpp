#include "kernels/host/declare.hpp"

#include "kernels/platform/current.hpp"

namespace assay {

void declare_functions(contract& c) {
  c.exp2_relative_error = platform::errors.exp2_relative;
  c.exp2_flush = platform::errors.exp2_flush;
  c.log_absolute_error = platform::errors.log_absolute;
  c.log_relative_error = platform::errors.log_relative;
  c.tanh_relative_error = platform::errors.tanh_relative;
}

}  // namespace assay
