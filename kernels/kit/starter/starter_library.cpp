/// What Assay asks of the kernel: which problems it takes, how it computes, and a launch.
#include "kernels/host/attention_library.hpp"
#include "starter.hpp"

using namespace assay;

/// Fields that are not here restrict nothing; kernels/support.h has all of them.
static constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};  // of Q; of K and V; of O
  s.head_dims.most = max_head_dim;
  s.most_total_rows = max_grid_blocks(threads);
  s.most_heads_q = max_grid_extent;
  s.most_splits = max_splits;
  s.no_page_descales = 1;
  return s;
}();

/// Each rounding that the kernel makes; kernels/contract.hpp says what the fields mean.
static contract declare(const problem& p) {
  contract c;
  c.tile_keys = tile_keys;
  c.qk = c.pv = {.products = 1, .alignment_bits = 24, .alignment_terms = 0, .result_roundoff = 0x1p-24F};  // fmaf
  c.p_type = dtype::f16;                              // to which probabilities are rounded for P V
  c.constant_roundings = 1;                           // scales, log2(e) and ln(2) are rounded once
  c.sum_roundings = tile_keys + 1;                    // l *= alpha, then a term for each key
  c.normalise_roundings = p.v_scale == 1.0F ? 1 : 2;  // O / l, then times v_scale
  declare_libm(c);                                    // exp2f, expf, logf and tanhf
  return c;
}

template <class T>
static strided<T> view(const tensor& t) {
  return {static_cast<T*>(t.data), {t.stride[0], t.stride[1], t.stride[2], t.stride[3]}};
}

static void launch(const problem& p, const attention_tensors& t) {
  const auto bias_of = [&](dtype type) { return p.bias_type == type ? t.bias : tensor{}; };
  const logit_scales scales = logit_scales_of(p);
  attention_params a{};
  a.q = view<const __half>(t.q), a.k = view<const __half>(t.k), a.v = view<const __half>(t.v);
  a.block_table = view<const int>(t.block_table), a.page_indptr = static_cast<const int*>(t.page_indptr.data);
  a.page_indices = static_cast<const int*>(t.page_indices.data), a.sinks = static_cast<const float*>(t.sinks.data);
  a.cu_seqlens_q = static_cast<const int*>(t.cu_seqlens_q.data);
  a.seqlens_k = static_cast<const int*>(t.seqlens_k.data);
  a.prefix_offset = static_cast<const int*>(t.prefix_offset.data);
  a.bias_f32 = view<const float>(bias_of(dtype::f32)), a.bias_f16 = view<const __half>(bias_of(dtype::f16));
  a.bias_bf16 = view<const __hip_bfloat16>(bias_of(dtype::bf16)), a.o = view<__half>(t.o), a.lse = view<float>(t.lse);
  a.o_partial = view<float>(t.o_partial), a.lse_partial = view<float>(t.lse_partial);
  a.num_seqs = p.num_seqs, a.total_q = p.total_q, a.max_q = p.max_q, a.num_splits = p.num_splits;
  a.heads_q = p.heads_q, a.heads_kv = p.heads_kv, a.head_dim_qk = p.head_dim_qk, a.head_dim_v = p.head_dim_v;
  a.page_size = p.page_size, a.causal = p.causal, a.window = p.window;
  a.scale = scales.natural, a.scale_log2 = scales.base2, a.soft_cap = p.soft_cap, a.v_scale = p.v_scale;
  launch_attention(a, nullptr);
}

ASSAY_ATTENTION_LIBRARY("split_kv", takes, declare, launch)  // it takes the cases of split_kv
