/// Q and K in e4m3fnuz.
#include "kernels/mqa_logits/mqa_logits_kernel.hpp"

void assay::launch_mqa_logits_e4m3fnuz(const mqa_arguments& arguments, mqa_grid grid) {
  launch_mqa_logits<assay::device::e4m3fnuz>(arguments, grid);
}
