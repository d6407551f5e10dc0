/// What Assay asks of llama.cpp's vector flash attention: which problems it takes, how it computes, and a launch.
#include <algorithm>
#include <cstring>

#include "flash_attn_vec.hpp"
#include "kernels/contract_recipes.hpp"
#include "kernels/host/attention_library.hpp"

using namespace assay;

static constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.head_dims.values[0] = 64, s.head_dims.values[1] = 128;
  s.no_unequal_head_dims = 1;
  s.most_rows = 4;  // decoding: the rows of a sequence go two by two, by the last one alone
  s.most_sequences = 8, s.most_keys = 2048, s.most_heads_q = 16;
  s.no_bias_f32 = s.no_bias_bf16 = 1;  // a bias is in the mask
  s.no_lse = s.no_split_count = s.no_partials = s.no_workspace_budget = 1;
  s.no_padding_rows = 1;
#ifndef LLAMA_CPP_NAN
  // llama.cpp clears its cache, so that no cell holds NaN; and every token sees itself.
  s.no_dead_nan = s.no_live_infinity = 1;
  s.no_rows_without_keys = s.no_sequences_without_keys = s.no_infinite_bias = 1;
#endif
  return s;
}();

/// f32 throughout. A warp takes 32 keys between two moves of its maximum, which it takes 8 times too large.
static contract declare(const problem& p) {
  contract c = in_any_order(p);
  c.tile_keys = 32;
  declare_libm(c);  // expf and tanhf
  c.exp2_flush = 0x1p-123F;
  return c;
}

static void compute(const problem& p, const attention_tensors& t, const stream_range& of) {
  kv_cache cache(p, t, of);
  flash_attn_vec(p, cache, static_cast<const float*>(t.sinks.data));
  auto* const o = static_cast<std::uint16_t*>(t.o.data);
  std::int64_t from = 0;
  for (std::int64_t row = of.first_row; row < of.first_row + of.count * of.rows; ++row)
    for (std::int64_t h = 0; h < p.heads_q; ++h)
      for (std::int64_t d = 0; d < p.head_dim_v; ++d) o[t.o.offset(row, h, d)] = to_f16(cache.dst[from++]);
}

/// In batch mode the sequences are streams of one call. In group mode each is a call of its own.
static void launch(const problem& p, const attention_tensors& t) {
  const auto* const keys = static_cast<const std::int32_t*>(t.seqlens_k.data);
  const auto* const sums = static_cast<const std::int32_t*>(t.cu_seqlens_q.data);
  if (sums == nullptr) return compute(p, t, {0, p.num_seqs, 0, p.max_q, *std::max_element(keys, keys + p.num_seqs)});
  for (std::int64_t s = 0; s < p.num_seqs; ++s)
    if (sums[s + 1] > sums[s]) compute(p, t, {s, 1, sums[s], sums[s + 1] - sums[s], keys[s]});
}

ASSAY_ATTENTION_LIBRARY("split_kv", takes, declare, launch)

/// What the fields above cannot say.
extern "C" [[gnu::visibility("default")]] assay_status assay_supports_case_v1(const char*, const problem* p,
                                                                              const assay_tensor* tensors,
                                                                              std::int32_t num_tensors) {
  if (p->soft_cap != 0.0F && p->head_dim_qk != 128)
    return refuse(ASSAY_UNSUPPORTED, "the kernel has a soft cap with a head dim of 128 alone");
  const assay_tensor* const bias = std::find_if(tensors, tensors + num_tensors,
                                                [](const assay_tensor& t) { return std::strcmp(t.name, "bias") == 0; });
  const bool has_own_of_heads = bias != tensors + num_tensors && p->heads_q > 1 && bias->view.strides[0] != 0;
  return has_own_of_heads ? refuse(ASSAY_UNSUPPORTED, "all heads have one mask, and so one bias") : assay_status{};
}
