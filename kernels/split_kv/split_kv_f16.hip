/// Q, K, V and O in f16.
#include "kernels/split_kv/split_kv_kernel.hpp"

void assay::launch_split_kv_f16(const split_kv_arguments& arguments, split_kv_grid grid) {
  launch_split_kv<assay::device::f16, assay::device::f16, assay::device::f16, assay::device::f16>(arguments, grid);
}
