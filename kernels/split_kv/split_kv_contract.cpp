#include "kernels/split_kv/split_kv_contract.hpp"

#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_contract.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/split_kv/shape.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

contract declare_split_kv(const problem& p, int lanes) {
  const dtype compute_type = p.o_type;  // int8 and FP8 tensors are multiplied with P, and stored, in O's type
  contract c;
  c.tile_keys = split_kv_group_keys;
  device::declare_key_products(c, p.q_type, p.k_type, compute_type);
  c.fuses_logits = 0;
  c.tile_rows = 0;
  c.merge_roundings = 0;
  c.head_rows = 0;
  c.constant_roundings = 1;  // each constant is rounded once, from long double on the host or by the compiler
  c.sum_roundings = device::narrow_sum_roundings(lanes) + 1;  // within the lane, and into its l
  c.normalise_roundings = p.v_scale == 1.0F ? 1 : 2;          // O / l, then times v_scale
  c.states = split_kv_shape_of(p, split_kv_device_of(lanes)).waves;
  c.state_roundings = c.states;  // wave by wave
  c.sum_join_roundings = device::narrow_join_roundings(lanes);
  declare_functions(c);
  return c;
}

}  // namespace assay
