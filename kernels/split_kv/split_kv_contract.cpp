#include "kernels/split_kv/split_kv_contract.hpp"

#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_contract.hpp"
#include "kernels/host/declare.hpp"
#include "kernels/split_kv/shape.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

contract declare_split_kv(const problem& p, int lanes) {
  contract c;
  c.tile_keys = split_kv_group_keys(size_bytes(p.k_type), size_bytes(p.v_type));
  const dtype of_fp8 = device::prefers_half_values ? dtype::f16 : p.o_type;
  device::declare_key_products(c, p.q_type, p.k_type, is_fp8(p.v_type) ? of_fp8 : p.v_type);
  c.fuses_logits = 0;
  c.tile_rows = 0;
  c.merge_roundings = 0;
  c.head_rows = 0;
  c.constant_roundings = 1;  // each constant is rounded once, from long double on the host or by the compiler
  const int of_atoms = c.tile_keys == device::group_keys ? 0 : 1;
  c.sum_roundings = device::narrow_sum_roundings(lanes) + of_atoms + 1;  // within the lane, and into its l
  c.normalise_roundings = p.v_scale == 1.0F ? 1 : 2;                     // O / l, then times v_scale
  c.states = split_kv_shape_of(p, split_kv_device_of(lanes)).waves;
  c.state_roundings = c.states;  // wave by wave
  c.sum_join_roundings = device::narrow_join_roundings(lanes);
  declare_functions(c);
  return c;
}

}  // namespace assay
