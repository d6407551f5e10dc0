/// What Assay asks of the kernel: which problems it takes, and a launch. Nothing is declared about its roundings.
#include "decode.hpp"
#include "kernels/host/attention_library.hpp"

using namespace assay;

static constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};  // of Q; of K and V; of O
  s.head_dims.most = max_head_dim, s.head_dims.multiple_of = 8;
  s.most_rows = 1;
  s.no_noncausal = 1, s.no_window = 1, s.no_prefix_offset = 1, s.no_soft_cap = 1, s.no_sinks = 1;
  s.no_bias_f32 = 1, s.no_bias_f16 = 1, s.no_bias_bf16 = 1, s.no_unequal_head_dims = 1;
  s.no_group = 1, s.no_page_list = 1, s.no_hnd = 1, s.no_unequal_layouts = 1, s.no_packing = 1;
  s.no_q_heads_outermost = 1, s.no_q_transposed = 1, s.no_input_margins = 1, s.no_output_margins = 1;
  s.no_live_infinity = 1;  // exp(-inf - -inf) is NaN
  s.no_split_count = 1, s.no_partials = 1, s.no_workspace_budget = 1, s.no_lse = 1;
  return s;
}();

static void launch(const problem& p, const attention_tensors& t) {
  decode_params a{};
  a.q = static_cast<const __half*>(t.q.data);
  a.k = static_cast<const __half*>(t.k.data);
  a.v = static_cast<const __half*>(t.v.data);
  a.block_table = static_cast<const int*>(t.block_table.data);
  a.table_stride = t.block_table.stride[0];
  a.seqlens_k = static_cast<const int*>(t.seqlens_k.data);
  a.o = static_cast<__half*>(t.o.data);
  a.num_seqs = p.num_seqs, a.heads_q = p.heads_q, a.heads_kv = p.heads_kv;
  a.head_dim = p.head_dim_qk, a.page_size = p.page_size;
  a.scale = p.scale;
  launch_decode(a, nullptr);
}

ASSAY_ATTENTION_LIBRARY("split_kv", takes, nullptr, launch)
