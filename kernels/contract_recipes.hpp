/// Contracts by name, for kernels whose authors do not know every rounding: start from the nearest, and change what
/// differs.
#pragma once

#include <cmath>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// Every order of operations in f32, a multiply-add at a time, with P, K, V and partials in f32: what a plain kernel
/// does that converts its inputs to float. exp, log and tanh are those of a GPU's fast paths (CUDA's programming guide
/// gives __expf 2 ulp + 1.16 |x| 2^-22, ex2.approx 2^-22, __logf 2^-21.41 absolute, tanh.approx 2^-10.987).
inline contract in_any_order(const problem& /*stated*/) {
  contract c;
  c.order = tile_order::any;
  c.tile_keys = 1;
  c.qk = c.pv = accumulation{1, 48, 1.0F, 0x1p-24F, 0x1p-126F};
  c.p_type = dtype::f32;
  c.constant_roundings = 6;
  c.sum_roundings = 2;
  c.normalise_roundings = 4;
  c.merge_roundings = 2;
  c.exp2_relative_error = 0x1p-21F;
  c.log_absolute_error = 0x1p-21F;
  c.log_relative_error = 0x1p-22F;
  c.tanh_relative_error = 0x1p-10F;
  return c;
}

/// Dot products by Hopper's FP8 unit (wgmma), as of FlashAttention 3 in FP8 and of DeepGEMM's logits: hopper_fp8_atom()
/// of matrix_atoms.hpp. 33 terms, each cut at 13 bits, and a result of 13 bits, whose cut adds 2^-13 of their errors.
/// For a contract's `qk`.
inline constexpr accumulation hopper_fp8_dots{32, 13, 34.0F, 0x1p-13F, 0x1p-126F};

/// Nothing is known but the types: in_any_order(), and P, partials, scaled queries and 8-bit caches may be rounded to
/// the type of the output (of an f32 output: of V), P of FP8 values to theirs. Sums are of f32: packed arithmetic must
/// be declared, and so must hopper_fp8_dots.
inline contract of_types(const problem& stated) {
  contract c = in_any_order(stated);
  const auto is_half = [](dtype type) { return type == dtype::f16 || type == dtype::bf16; };
  const dtype half = is_half(stated.o_type) ? stated.o_type : is_half(stated.v_type) ? stated.v_type : dtype::f32;
  c.p_type = is_fp8(stated.v_type) ? stated.v_type : half;
  c.cache_type =
      is_fp8(stated.v_type) || stated.v_type == dtype::i8 ? half : dtype::f32;  // floats are used as they are
  // Where f16 does not hold a scaled query, a kernel that rounds it is wrong.
  const double scale = std::fabs(static_cast<double>(stated.scale)) * std::fabs(static_cast<double>(stated.q_scale));
  if (half != dtype::f16 || (scale < 16 && std::fabs(static_cast<double>(stated.k_scale)) < 16)) c.query_type = half;
  c.partial_type = half;
  c.normalises_p = is_fp8(stated.v_type) ? 0 : 1;
  c.sum_epsilon = 0x1p-20F;
  return c;
}

/// FlashAttention 2 and its kin: tiles of `tile_keys` in any order, P in the type of V, f32 accumulators of matrix
/// units (16 products a join), LSE natural.
inline contract flash_attention_2(const problem& stated, std::int32_t tile_keys) {
  contract c = in_any_order(stated);
  c.tile_keys = tile_keys;
  c.qk = c.pv = accumulation{8, 24, 10.0F, 0x1p-23F, 0x1p-126F};
  c.p_type = stated.v_type == dtype::i8 ? stated.o_type : stated.v_type;
  c.sum_roundings = 16;
  return c;
}

/// vLLM's paged_attention_v1 and _v2: two passes per partition, P in f32 rounded to the query's type, products of P and
/// V in packed arithmetic of that type, of f16 also the sums of four of them, l + 1e-6. The outputs of v2's partitions
/// are rounded to that type, and l + 1e-6 comes twice.
inline contract vllm_paged_attention(const problem& stated) {
  contract c = in_any_order(stated);
  c.tile_keys = 16;
  c.sum_roundings = 16;
  c.p_type = stated.q_type == dtype::f32 ? dtype::f32 : stated.q_type;
  c.product_type = c.p_type;
  c.product_roundings = stated.q_type == dtype::f16 ? 4 : 1;
  c.partial_type = c.p_type;
  c.cache_type = stated.k_type == stated.q_type ? dtype::f32 : c.p_type;
  c.normalises_p = 1;
  c.sum_epsilon = 2.2e-6F;
  return c;
}

}  // namespace assay
