/// All tensors in f16.
#include "kernels/batch_prefill/batch_prefill_kernel.hpp"

void assay::launch_prefill_f16(const prefill_arguments& arguments, unsigned int blocks) {
  launch_prefill<device::f16, device::f16, device::f16>(arguments, blocks);
}
