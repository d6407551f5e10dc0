#include "kernels/declare.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/batch_prefill.hpp"
#include "kernels/device/mma.hpp"
#include "kernels/device/mma/columns.hpp"
#include "kernels/device/softmax.hpp"
#include "kernels/device/tile_softmax.hpp"
#include "kernels/mqa_logits.hpp"
#include "kernels/platform/current.hpp"
#include "kernels/split_kv.hpp"

namespace assay {
namespace {

void declare_functions(contract& c) {
  c.exp2_relative_error = platform::errors.exp2_relative;
  c.exp2_flush = platform::errors.exp2_flush;
  c.log_absolute_error = platform::errors.log_absolute;
  c.log_relative_error = platform::errors.log_relative;
  c.tanh_relative_error = platform::errors.tanh_relative;
}

}  // namespace

contract declare_split_kv(const problem& p) {
  const dtype compute_type = p.o_type;  // int8 and FP8 tensors are multiplied with P, and stored, in O's type
  contract c;
  c.tile_keys = split_kv_tile_keys;
  c.qk = device::accumulation_model(p.q_type);
  c.pv = device::accumulation_model(compute_type);
  c.p_type = compute_type;
  c.p_flush = device::flushed_below(compute_type);
  c.p_shift = 0;
  c.fuses_logits = 0;
  c.tile_rows = 0;
  c.merge_roundings = 0;
  c.head_rows = 0;
  c.constant_roundings = 1;  // each constant is rounded once, from long double on the host or by the compiler
  c.sum_roundings = device::softmax_sum_roundings;
  c.normalise_roundings = p.v_scale == 1.0F ? 1 : 2;  // O / l, then times v_scale
  declare_functions(c);
  return c;
}

contract declare_batch_prefill(const problem& p) {
  const bool per_page = p.kv_descale == descale_kind::per_page;
  contract c;
  c.tile_keys = prefill_tile_keys;
  c.qk = device::fp8_accumulation_model();
  c.pv = device::fp8_accumulation_model();
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

contract declare_mqa_logits(const problem& p, int wave_size) {
  const int head_atoms = (p.heads_q + device::atom_rows - 1) / device::atom_rows;
  contract c;
  c.tile_keys = mqa_stage_keys;
  c.qk = device::fp8_accumulation_model();
  c.pv = c.qk;
  c.p_type = dtype::f32;
  c.p_flush = 0.0F;
  c.p_shift = 0;
  c.fuses_logits = 1;
  c.tile_rows = 1;
  c.merge_roundings = 0;
  c.head_rows = device::atom_rows;
  const device::row_tree joined = device::column_tree(wave_size);
  std::copy(std::begin(joined.stride), std::end(joined.stride), c.head_tree);
  c.constant_roundings = 0;
  // What the order above comes to where it is left open: a fused multiply-add for each atom of heads; the tree over the
  // atom's rows; the product with the key's scale.
  c.sum_roundings = head_atoms + device::column_sum_roundings + 1;
  c.normalise_roundings = 0;
  declare_functions(c);
  return c;
}

}  // namespace assay
