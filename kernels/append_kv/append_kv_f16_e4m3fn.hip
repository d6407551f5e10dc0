/// New rows in f16, cache in e4m3fn.
#include "kernels/append_kv/append_kv_kernel.hpp"

void assay::launch_append_kv_f16_e4m3fn(const append_kv_arguments& arguments) {
  launch_append_kv<assay::device::f16, assay::device::e4m3fn>(arguments);
}
