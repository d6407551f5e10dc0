/// Q, K, V and O in bf16.
#include "kernels/split_kv/split_kv_kernel.hpp"

void assay::launch_split_kv_bf16(const split_kv_arguments& arguments, split_kv_grid grid) {
  launch_split_kv<assay::device::bf16, assay::device::bf16, assay::device::bf16, assay::device::bf16>(arguments, grid);
}
