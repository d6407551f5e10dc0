/// New rows and cache in bf16.
#include "kernels/append_kv/append_kv_kernel.hpp"

void assay::launch_append_kv_bf16(const append_kv_arguments& arguments) {
  launch_append_kv<assay::device::bf16, assay::device::bf16>(arguments);
}
