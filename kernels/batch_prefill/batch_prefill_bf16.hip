/// All tensors in bf16.
#include "kernels/batch_prefill/batch_prefill_kernel.hpp"

void assay::launch_prefill_bf16(const prefill_arguments& arguments, unsigned int blocks) {
  launch_prefill<device::bf16, device::bf16, device::bf16>(arguments, blocks);
}
