/// Q, K and V in e4m3fnuz, O in bf16.
#include "kernels/batch_prefill/batch_prefill_kernel.hpp"

void assay::launch_prefill_e4m3fnuz_bf16(const prefill_arguments& arguments, prefill_grid grid) {
  launch_prefill<assay::device::e4m3fnuz, assay::device::bf16>(arguments, grid);
}
