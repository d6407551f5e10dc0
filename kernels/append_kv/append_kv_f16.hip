/// New rows and cache in f16.
#include "kernels/append_kv/append_kv_kernel.hpp"

void assay::launch_append_kv_f16(const append_kv_arguments& arguments) {
  launch_append_kv<assay::device::f16, assay::device::f16>(arguments);
}
