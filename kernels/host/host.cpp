#include "kernels/host/host.hpp"

#include "kernels/host/check.hpp"
#include "kernels/platform/current.hpp"

namespace assay {

logit_scales logit_scales_of(const problem& p) {
  // The product of three f32 is exact to 2^-64 in long double, so that each constant is rounded once.
  const long double scale = static_cast<long double>(p.scale) * p.q_scale * p.k_scale;
  return {static_cast<float>(scale), static_cast<float>(scale * 1.44269504088896340735992468100189214L)};
}

assay_status check_launch(const assay_tensor* tensors, std::int32_t num_tensors, const assay_launch* launch) {
  if (launch == nullptr || (tensors == nullptr && num_tensors > 0) || num_tensors < 0)
    return refuse(ASSAY_REJECTED, "launch or tensors is null");
  if (!platform::has_wave_size(launch->wave_size))
    return refuse(ASSAY_REJECTED, "wave_size %d is not supported on this platform", launch->wave_size);
  return {};
}

assay_status launch_outcome(const char* kernel) {
  const hipError_t error = hipGetLastError();
  return error == hipSuccess ? assay_status{} : refuse(ASSAY_FAILED, "%s: %s", kernel, hipGetErrorString(error));
}

}  // namespace assay
