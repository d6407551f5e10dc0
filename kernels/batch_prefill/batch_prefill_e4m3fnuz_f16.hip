/// Q, K and V in e4m3fnuz, O in f16.
#include "kernels/batch_prefill/batch_prefill_kernel.hpp"

void assay::launch_prefill_e4m3fnuz_f16(const prefill_arguments& arguments, prefill_grid grid) {
  launch_prefill<assay::device::e4m3fnuz, assay::device::f16>(arguments, grid);
}
