#include "kernels/append_kv/append_kv_contract.hpp"

#include "kernels/device/mma.hpp"
#include "kernels/host/declare.hpp"

namespace assay {

contract declare_append_kv(const problem& p) {
  contract c;
  // Without meaning here.
  c.tile_keys = 1;
  c.qk = device::accumulation_model(p.q_type);
  c.pv = c.qk;
  c.p_type = dtype::f32;
  c.p_flush = 0.0F;
  c.p_shift = 0;
  c.fuses_logits = 0;
  c.tile_rows = 0;
  c.merge_roundings = 0;
  c.head_rows = 0;
  c.constant_roundings = 0;
  c.sum_roundings = 0;
  c.normalise_roundings = 0;
  declare_functions(c);

  // u = 2^-24. Each product is rounded, then the sum: a term is off by at most (1 + u)^2 - 1 = 2u + u^2 of its
  // magnitude, which is less than three.
  c.rotary_roundings = 3;
  c.scale_roundings = 1;     // the division by the largest code's value
  c.quantise_roundings = 1;  // the division by the scale
  c.rescale_roundings = 2;   // D / D', then its product with the code's value
  return c;
}

}  // namespace assay
