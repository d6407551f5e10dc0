#include "kernels/batch_prefill/batch_prefill_contract.hpp"

#include "kernels/batch_prefill/batch_prefill_arguments.hpp"
#include "kernels/device/key_atoms.hpp"
#include "kernels/device/key_contract.hpp"
#include "kernels/host/declare.hpp"

namespace assay {

contract declare_batch_prefill(const problem& p, int lanes, bool by_groups) {
  const dtype compute_type = is_fp8(p.q_type) ? dtype::f16 : p.q_type;
  const bool per_page = p.kv_descale == descale_kind::per_page;
  contract c;
  c.tile_keys = by_groups ? prefill_group_tile_keys : prefill_tile_keys;
  device::declare_key_products(c, compute_type, p.k_type, compute_type);
  if (by_groups) device::declare_group_logits(c, p.q_type);
  const double scale = double{p.scale} * double{p.q_scale} * double{p.k_scale};
  c.fuses_logits = static_cast<std::int32_t>(by_groups && p.soft_cap == 0.0F && scale > 0);
  if (c.fuses_logits != 0) c.least_rounded_maximum = prefill_least_rounded_maximum;
  c.tile_rows = prefill_wave_rows;       // a wave leaves out the tiles behind those that its rows see
  c.merge_roundings = per_page ? 2 : 0;  // the quotient of two descales, and its product with alpha
  c.constant_roundings = 1;
  // Within the lane over an atom, over the four of a tile, and into l; in prefill_group_rows over the 32 that a lane
  // has of a row, and into l.
  c.sum_roundings = by_groups ? 6 : device::narrow_sum_roundings(lanes) + 2 + 1;
  c.sum_join_roundings = by_groups ? 2 : device::narrow_join_roundings(lanes);
  // v_scale times the last descale, over l, times O. A factor of 1 rounds nothing.
  c.normalise_roundings = per_page && p.v_scale != 1.0F ? 3 : 2;
  declare_functions(c);
  return c;
}

}  // namespace assay
