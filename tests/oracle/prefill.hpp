/// Problems and contracts of batch prefill in FP8, for the oracle's tests.
#pragma once

#include <cmath>

#include "tests/oracle/scalar_kernel.hpp"

namespace assay::testing {

/// FP8 kernels as the cpu platform has them: 32 exact products joined in binary64, one rounding per atom. FP8 products
/// are multiples of 2^-20 below 2^18, so only the accumulator's own last bits can be lost in the 32 additions.
inline contract prefill_contract(dtype p_type, std::int32_t tile_keys = 64, std::int32_t tile_rows = 64) {
  contract c;
  c.tile_keys = tile_keys;
  c.tile_rows = tile_rows;
  c.qk = c.pv = accumulation{32, 43, 1.0F, 0x1p-24F, 0.0F};
  c.p_type = p_type;
  c.p_shift = p_type == dtype::e4m3fnuz ? 7 : 8;
  c.fuses_logits = 1;
  c.merge_roundings = 2;
  c.constant_roundings = 1;
  c.sum_roundings = 8;
  c.normalise_roundings = 3;
  c.exp2_relative_error = 1.01F * 0x1p-24F;
  c.log_absolute_error = 0;
  c.log_relative_error = 1.01F * 0x1p-24F;
  return c;
}

/// Neighbouring pages 3% apart, up and down, K's and V's not alike.
inline double three_percent(char which, std::int64_t nth, std::int64_t head) {
  const double step = (nth + (which == 'v' ? 1 : 0)) % 2 == 0 ? 1.0 : 1.03;
  return (which == 'k' ? 0.9 : 1.1) * step * (1 + 0.125 * static_cast<double>(head));
}

/// The shape of the upstream report: head_dim 128, 2,048 keys in two pages of 1,024.
inline options report_shape(dtype type, dtype o_type) {
  options o;
  o.qk_type = o.v_type = type;
  o.o_type = o_type;
  o.sequences = {{2, 2048}};
  o.dim_qk = o.dim_v = 128;
  o.page_size = 1024;
  o.scale = 0.088388346F;
  o.descale = three_percent;
  return o;
}

/// One of everything that prefill contracts distinguish, by number.
inline options prefill_variant(std::uint64_t n) {
  options o;
  o.seed = n;
  o.qk_type = o.v_type = n % 2 == 0 ? dtype::e4m3fn : dtype::e4m3fnuz;
  o.o_type = n % 4 < 2 ? dtype::f16 : dtype::bf16;
  o.sequences = {{5, 75}, {5, 32}, {5, 0}, {5, 3}};
  o.batch = n % 3 == 0;
  if (!o.batch) o.sequences = {{9, 75}, {2, 20}, {1, 0}, {3, 33}};
  o.heads_q = n % 5 < 2 ? 4 : 2;
  o.heads_kv = 2;
  o.dim_qk = 40;
  o.page_size = n % 7 < 3 ? 32 : 16;
  o.causal = n % 3 != 1;
  o.soft_cap = n % 6 == 5 ? 3.0F : 0.0F;
  o.page_list = n % 2 == 1;
  o.scale = 0.3F;
  o.q_scale = 0.8F;
  o.k_scale = 1.25F;
  o.v_scale = n % 4 == 2 ? 1.0F : 0.37F;
  if (n % 5 != 4)
    o.descale = [n](char which, std::int64_t nth, std::int64_t head) {
      const double ratio = n % 4 == 0 ? 1.03 : n % 4 == 1 ? 1.0 : n % 4 == 2 ? 37.0 : 0.5;
      return (which == 'k' ? 0.8 : 1.7) * std::pow(ratio, static_cast<double>((nth + head) % 2));
    };
  return o;
}

/// A contract for that variant: all orders of tile and page, fused or not, constants known or not.
inline contract contract_of_variant(const options& o, std::uint64_t n) {
  contract c = prefill_contract(o.qk_type, 16, 1 + static_cast<std::int32_t>(n % 4));
  if (o.soft_cap > 0 || n % 8 == 6) c.fuses_logits = 0;
  if (n % 5 == 3) c.constant_roundings = 3;
  if (n % 9 == 4) c.p_shift = 0;
  if (n % 9 == 5) c.p_type = dtype::f16;
  return c;
}

}  // namespace assay::testing
