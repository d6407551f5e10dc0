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

void declare_libm(contract& c) {
  // glibc since 2.28 says in its sources what the functions return when rounding to nearest (sysdeps/ieee754/flt-32):
  // e_exp2f.c and e_expf.c at most 0.502 ulp, e_logf.c 0.818 ulp. Its manual ("Known Maximum Errors in Math Functions")
  // gives 2 ulp for tanhf, measured; twice that is allowed here. An ulp is at most 2^-23 of the value.
  c.exp2_relative_error = 0.51F * 0x1p-23F;
  c.exp2_flush = 0x1p-126F;
  c.log_absolute_error = 0.0F;
  c.log_relative_error = 0.83F * 0x1p-23F;
  c.tanh_relative_error = 4.0F * 0x1p-23F;
}

}  // namespace assay
