/// Q and O in bf16, K and V in e4m3fnuz.
#include "kernels/split_kv/split_kv_kernel.hpp"

void assay::launch_split_kv_bf16_e4m3fnuz(const split_kv_arguments& arguments, split_kv_grid grid) {
  launch_split_kv<assay::device::bf16, assay::device::e4m3fnuz, assay::device::e4m3fnuz, assay::device::bf16>(arguments,
                                                                                                              grid);
}
