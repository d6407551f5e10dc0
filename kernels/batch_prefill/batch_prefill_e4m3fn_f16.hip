/// Q, K and V in e4m3fn, multiplied as f16 (by warpgroups only V), and O in f16.
#include "kernels/batch_prefill/batch_prefill_kernel.hpp"

void assay::launch_prefill_e4m3fn_f16(const prefill_arguments& arguments, unsigned int blocks) {
  launch_prefill<device::f16, device::e4m3fn, device::f16>(arguments, blocks);
}
