/// What a platform promises of its elementary functions; copied into contracts. Tested densely in tests/kernels/device.
#pragma once

namespace assay::platform {

struct math_errors {
  float exp2_relative;  ///< of exp2 and exp, where the result is a normal f32
  float exp2_flush;     ///< results below may become 0
  float log_absolute;   ///< |log(x) - ln x| <= absolute + relative * |ln x| for x in [1, 2^31]
  float log_relative;
  float tanh_relative;
};

}  // namespace assay::platform
