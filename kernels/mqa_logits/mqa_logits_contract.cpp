#include "kernels/mqa_logits/mqa_logits_contract.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/device/head_atoms.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/mqa_logits/mqa_logits_arguments.hpp"

namespace assay {

contract declare_mqa_logits(const problem& p, int wave_size) {
  const int head_atoms = (p.heads_q + device::head_rows - 1) / device::head_rows;
  contract c;
  c.tile_keys = mqa_group_keys;
  c.qk = device::fp8_accumulation_model();
  c.pv = c.qk;
  c.qk_atom = device::exact_fp8_atom(p.q_type);
  c.p_type = dtype::f32;
  c.p_flush = 0.0F;
  c.p_shift = 0;
  c.fuses_logits = 1;
  c.tile_rows = 1;
  c.merge_roundings = 0;
  c.head_rows = device::head_rows;
  const device::row_tree joined = device::head_tree(wave_size);
  std::copy(std::begin(joined.stride), std::end(joined.stride), c.head_tree);
  c.constant_roundings = 0;
  // What the order above comes to where it is left open: a fused multiply-add for each atom of heads; the tree over the
  // atom's rows; the product with the key's scale.
  c.sum_roundings = head_atoms + device::most_head_joins + 1;
  c.normalise_roundings = 0;
  declare_functions(c);
  return c;
}

}  // namespace assay
