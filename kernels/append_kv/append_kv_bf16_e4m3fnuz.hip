/// New rows in bf16, cache in e4m3fnuz.
#include "kernels/append_kv/append_kv_kernel.hpp"

void assay::launch_append_kv_bf16_e4m3fnuz(const append_kv_arguments& arguments) {
  launch_append_kv<assay::device::bf16, assay::device::e4m3fnuz>(arguments);
}
