/// Q and K in int8, V and O in f16.
#include "kernels/split_kv/split_kv_kernel.hpp"

void assay::launch_split_kv_i8(const split_kv_arguments& arguments, split_kv_grid grid) {
  launch_split_kv<std::int8_t, std::int8_t, assay::device::f16, assay::device::f16>(arguments, grid);
}
