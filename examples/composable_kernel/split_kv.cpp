/// What Assay asks of Composable Kernel's split-KV attention: which problems it takes, how it computes, and a launch by
/// CK's own dispatcher.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "ck_tile/ops/fmha/block/variants.hpp"
#include "fmha_fwd.hpp"
#include "kernels/contract_recipes.hpp"
#include "kernels/host/attention_library.hpp"

namespace {

constexpr bool is_bf16 = std::string_view(CK_TYPE) == "bf16";

constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  constexpr int type = is_bf16 ? ASSAY_TYPE_BF16 : ASSAY_TYPE_F16;
  s.types[0] = {type, type, type};
  constexpr int head_dims[] = {CK_HEAD_DIMS};
  std::copy(std::begin(head_dims), std::end(head_dims), s.head_dims.values);
  s.no_unequal_head_dims = 1;
  s.page_sizes.multiple_of = 128;  // as CK's example demands: tiles do not cross pages
  s.most_splits = 128;             // of the combine kernel
  s.most_sequences = s.most_heads_q = assay::max_grid_extent;
  s.input_alignment = s.output_alignment = 8;
  s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = s.no_sinks = 1;
  s.no_prefix_offset = s.no_page_list = 1;
  s.no_q_scale = s.no_k_scale = s.no_v_scale = s.no_page_descales = 1;
  s.no_q_transposed = s.no_far_strides = 1;
  s.no_partials = s.no_workspace_budget = 1;
  s.no_wave_32 = 1;
#ifndef CK_ALL_DATA
  // The maximum is that of logits before they are scaled. Values of keys that a window hides, or that another split
  // has, are multiplied by P = 0. The combine kernel takes a row whose only LSE is NaN for one without keys.
  s.no_nonpositive_scale = s.no_dead_nan = s.no_live_infinity = s.no_live_nan = 1;
#endif
  return s;
}();

/// P is rounded to the type of V, all else is f32. A tile has as many keys as a head has dimensions.
assay::contract declare(const assay::problem& p) {
  return assay::flash_attention_2(p, p.head_dim_qk);
}

/// Memory of hipMalloc, all NaN.
template <class T>
class device_array {
 public:
  explicit device_array(std::int64_t size) {
    const auto bytes = static_cast<std::size_t>(size) * sizeof(T);
    if (hipMalloc(&data_, bytes) != hipSuccess) throw std::bad_alloc();
    std::memset(static_cast<void*>(data_), 0xff, bytes);
  }
  ~device_array() { static_cast<void>(hipFree(data_)); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* get() { return data_; }

 private:
  T* data_ = nullptr;
};

using ck_tile::index_t;

/// 0 where it means nothing.
index_t stride_of(const assay::tensor& t, int dimension) {
  return t.shape[dimension] > 1 ? static_cast<index_t>(t.stride[dimension]) : 0;
}

/// CK's lse has its rows next to each other: [split, head, row]. Only its last form has a place in Assay's problem.
struct workspace {
  explicit workspace(const assay::problem& p)
      : splits(p.num_splits > 0 ? p.num_splits : 1),
        rows_of_heads(std::int64_t{p.heads_q} * p.total_q),
        lse(rows_of_heads),
        lse_acc(splits * rows_of_heads),
        o_acc(splits * rows_of_heads * p.head_dim_v),
        key_starts(p.num_seqs + 1) {}

  std::int64_t splits, rows_of_heads;
  device_array<float> lse, lse_acc, o_acc;
  device_array<std::int32_t> key_starts;  ///< read in group mode, though a paged cache does not use it
};

void set_inputs(fmha_fwd_splitkv_args& a, const assay::problem& p, const assay::attention_tensors& t) {
  a.q_ptr = t.q.data, a.k_ptr = t.k.data, a.v_ptr = t.v.data;
  a.block_table_ptr = t.block_table.data, a.batch_stride_block_table = stride_of(t.block_table, 0);
  a.page_block_size = p.page_size;
  a.seqstart_q_ptr = t.cu_seqlens_q.data, a.seqlen_k_ptr = t.seqlens_k.data;
  a.seqlen_q = a.max_seqlen_q = p.max_q, a.seqlen_k = p.max_k, a.batch = p.num_seqs;
  a.hdim_q = p.head_dim_qk, a.hdim_v = p.head_dim_v, a.nhead_q = p.heads_q, a.nhead_k = p.heads_kv;
  a.scale_s = p.scale, a.scale_p = a.scale_o = 1.0F, a.logits_soft_cap = p.soft_cap;
  a.stride_q = stride_of(t.q, 0), a.nhead_stride_q = stride_of(t.q, 1), a.batch_stride_q = p.max_q * a.stride_q;
  a.batch_stride_k = stride_of(t.k, 0), a.stride_k = stride_of(t.k, 1), a.nhead_stride_k = stride_of(t.k, 2);
  a.batch_stride_v = stride_of(t.v, 0), a.stride_v = stride_of(t.v, 1), a.nhead_stride_v = stride_of(t.v, 2);
  a.window_size_left = p.window > 0 ? p.window - 1 : -1, a.window_size_right = p.causal != 0 ? 0 : -1;
}

void set_outputs(fmha_fwd_splitkv_args& a, const assay::problem& p, const assay::attention_tensors& t, workspace& w) {
  a.o_ptr = t.o.data, a.lse_ptr = w.lse.get(), a.lse_acc_ptr = w.lse_acc.get(), a.o_acc_ptr = w.o_acc.get();
  a.num_splits = static_cast<index_t>(w.splits);
  a.stride_o = stride_of(t.o, 0), a.nhead_stride_o = stride_of(t.o, 1), a.batch_stride_o = p.max_q * a.stride_o;
  a.nhead_stride_lse = a.nhead_stride_lse_acc = p.total_q, a.batch_stride_lse = a.batch_stride_lse_acc = p.max_q;
  a.split_stride_lse_acc = static_cast<index_t>(w.rows_of_heads);
  a.stride_o_acc = p.head_dim_v, a.nhead_stride_o_acc = p.total_q * p.head_dim_v;
  a.batch_stride_o_acc = p.max_q * p.head_dim_v;
  a.split_stride_o_acc = static_cast<index_t>(w.rows_of_heads) * p.head_dim_v;
}

void launch(const assay::problem& p, const assay::attention_tensors& t) {
  if (p.max_q == 0) return;  // padding alone, for which CK would ask for a grid without blocks
  workspace w(p);
  std::memset(w.key_starts.get(), 0, static_cast<std::size_t>(p.num_seqs + 1) * sizeof(std::int32_t));
  const bool is_masked = p.causal != 0 || p.window > 0, is_group = p.batching == assay::q_batching::group;
  fmha_fwd_splitkv_args a{};
  set_inputs(a, p, t);
  set_outputs(a, p, t, w);
  a.seqstart_k_ptr = w.key_starts.get();
  const mask_enum mask = is_masked ? mask_enum::mask_bottom_right : mask_enum::no_mask;
  a.mask_type = static_cast<index_t>(mask);
  const fmha_fwd_splitkv_traits traits{.hdim_q = p.head_dim_qk,
                                       .hdim_v = p.head_dim_v,
                                       .data_type = CK_TYPE,
                                       .is_group_mode = is_group,
                                       .is_v_rowmajor = true,
                                       .has_logits_soft_cap = p.soft_cap > 0,
                                       .mask_type = mask,
                                       .bias_type = bias_enum::no_bias,
                                       .has_lse = true,
                                       .do_fp8_static_quant = false};
  if (fmha_fwd_splitkv(traits, a, ck_tile::stream_config{}) < 0) throw std::logic_error("CK has no such instance");
  const std::int64_t rows = is_group ? static_cast<const std::int32_t*>(t.cu_seqlens_q.data)[p.num_seqs] : p.total_q;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t h = 0; h < p.heads_q; ++h)
      static_cast<float*>(t.lse.data)[t.lse.offset(row, h)] = w.lse.get()[h * p.total_q + row];
}

}  // namespace

ASSAY_ATTENTION_LIBRARY("split_kv", takes, declare, launch)
