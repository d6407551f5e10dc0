#include "kernels/batch_prefill/batch_prefill_contract.hpp"

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/tile_softmax.hpp"
#include "kernels/host/declare.hpp"

namespace assay {

contract declare_batch_prefill(const problem& p) {
  const bool per_page = p.kv_descale == descale_kind::per_page;
  contract c;
  c.tile_keys = prefill_tile_keys;
  c.qk = device::fp8_accumulation_model();
  c.pv = device::fp8_accumulation_model();
  c.qk_atom = device::exact_fp8_atom(p.q_type);
  c.pv_atom = device::exact_fp8_atom(p.v_type);
  c.p_type = p.v_type;
  c.p_flush = 0.0F;  // the smallest nonzero E4M3 is 2^-10, a normal number of every type that it is widened to
  c.p_shift = prefill_p_shift(p.v_type);
  c.fuses_logits = p.soft_cap == 0.0F ? 1 : 0;
  c.tile_rows = prefill_tile_rows;
  c.merge_roundings = per_page ? 2 : 0;  // the quotient of two descales, and its product with alpha
  c.constant_roundings = 1;
  c.sum_roundings = device::tile_sum_roundings;
  // v_scale times the last descale, over l, times O. A factor of 1 rounds nothing.
  c.normalise_roundings = per_page && p.v_scale != 1.0F ? 3 : 2;
  declare_functions(c);
  return c;
}

}  // namespace assay
