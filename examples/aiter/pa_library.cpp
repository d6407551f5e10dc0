/// What Assay asks of aiter's paged attention: what it takes, how it computes, and a launch.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/contract_recipes.hpp"
#include "kernels/host/attention_library.hpp"
#include "pa_call.hpp"

namespace aiter_example {

device_memory::device_memory(std::size_t size_bytes) {
  if (hipMalloc(&data_, std::max<std::size_t>(size_bytes, 16)) != hipSuccess) throw std::bad_alloc();
  std::memset(data_, 0xff, size_bytes);  // NaN in each type
}

device_memory::~device_memory() {
  static_cast<void>(hipFree(data_));
}

static constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
#ifdef AITER_FP8
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_E4M3FNUZ, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_E4M3FNUZ, ASSAY_TYPE_BF16};
#else
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  s.no_k_scale = s.no_v_scale = 1;
#endif
  s.head_dims.values[0] = 64, s.head_dims.values[1] = 128;
#ifdef AITER_V1
  s.page_sizes.values[0] = 16, s.page_sizes.values[1] = 32;
  s.no_page_list = 1;
#else
  s.page_sizes.values[0] = 1, s.page_sizes.values[1] = 16, s.page_sizes.values[2] = 32;
  s.no_block_table = s.no_spare_table_entries = s.no_window = 1;
#endif
  std::copy(std::begin(groups), std::end(groups), s.group_sizes.values);
  s.most_sequences = s.most_heads_q = assay::max_grid_extent;
  s.most_rows = rows_of_sequence;
  s.most_keys = partition_size * most_partitions;
  s.most_splits = 1;
  s.no_prefix_offset = s.no_sinks = 1;
  s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = 1;
  s.no_page_descales = s.no_q_scale = s.no_unequal_head_dims = 1;
  s.no_group = s.no_padding_rows = 1;
  s.input_alignment = 16, s.output_alignment = 8;  // vectors of 16 bytes
  // K and V have one set of strides, and rows of Q and O but one stride or none.
  s.no_unequal_layouts = s.no_packing = s.no_q_heads_outermost = s.no_q_transposed = 1;
  s.no_input_margins = s.no_output_margins = s.no_far_strides = 1;
  s.no_split_count = s.no_workspace_budget = s.no_lse = s.no_partials = 1;
  s.no_wave_32 = 1;
  s.no_live_infinity = 1;  // a live value is loaded for keys behind the end, too, and multiplied by 0
#ifdef AITER_EVERYTHING    // README.md says what the kernels do with these
  s.group_sizes.values[std::size(groups)] = 32;
#else
  s.no_dead_nan = s.no_sequences_without_keys = s.no_rows_without_keys = 1;
  s.no_live_nan = 1;  // a slot may hold a key of one sequence, and none of another
#endif
  // The rows of a sequence see all keys: there is no mask.
  if (rows_of_sequence > 1) s.no_causal = 1;
  return s;
}();

/// A wave takes 64 keys of a partition. P is normalised and rounded to the type of V, the output of a partition to that
/// of O. Both sums have 1e-6 added.
static assay::contract declare(const assay::problem& p) {
  assay::contract c = assay::in_any_order(p);
  c.tile_keys = 64;
  c.qk = c.pv = assay::accumulation{4, 24, 10.0F, 0x1p-23F, 0x1p-126F};
  c.p_type = c.partial_type = p.q_type;
  if (p.k_type != p.q_type) c.p_type = c.query_type = p.k_type;
  c.sum_roundings = 24;
  c.normalises_p = 1;
  c.sum_epsilon = 2.2e-6F;
  c.tanh_relative_error = 0x1p-21F;
  return c;
}

/// How many keys the last page of each sequence holds.
static void set_last_page_lens(const assay::problem& p, const assay::attention_tensors& t, int* lens) {
  const auto* const keys = static_cast<const int*>(t.seqlens_k.data);
  for (int s = 0; s < p.num_seqs; ++s) lens[s] = keys[s] == 0 ? 0 : (keys[s] - 1) % p.page_size + 1;
}

static void launch(const assay::problem& p, const assay::attention_tensors& t) {
  const int partitions = (p.max_k + partition_size - 1) / partition_size;
  const auto places =
      static_cast<std::size_t>(p.total_q) * static_cast<std::size_t>(p.heads_q) * static_cast<std::size_t>(partitions);
  const device_memory last_page_lens(static_cast<std::size_t>(p.num_seqs) * sizeof(int));
  const device_memory exp_sums(places * sizeof(float)), max_logits(places * sizeof(float));
  const device_memory scales(2 * sizeof(float)), tmp_out(places * static_cast<std::size_t>(p.head_dim_v) * 2);
  set_last_page_lens(p, t, last_page_lens.as<int>());
  scales.as<float>()[0] = p.k_scale, scales.as<float>()[1] = p.v_scale;
  pa_call c{};
  c.out = t.o.data, c.query = t.q.data, c.key_cache = t.k.data, c.value_cache = t.v.data;
  c.exp_sums = exp_sums.as<float>(), c.max_logits = max_logits.as<float>(), c.tmp_out = tmp_out.as<void>();
  c.kv_indptr = static_cast<const int*>(t.page_indptr.data);
  c.kv_page_indices = static_cast<const int*>(t.page_indices.data);
  c.kv_last_page_lens = p.page_size > 1 ? last_page_lens.as<int>() : nullptr;
  c.context_lens = static_cast<const int*>(t.seqlens_k.data);
  c.block_tables = static_cast<const int*>(t.block_table.data);
  if (c.block_tables != nullptr) c.max_num_blocks_per_seq = static_cast<int>(t.block_table.shape[1]);
  c.sliding_window = p.window;
  c.k_scale = scales.as<float>(), c.v_scale = c.k_scale + 1;
  c.scale = p.scale, c.logits_soft_cap = p.soft_cap;
  c.num_seqs = p.num_seqs, c.num_kv_heads = p.heads_kv, c.num_heads = p.heads_q;
  c.head_size = p.head_dim_qk, c.block_size = p.page_size, c.max_num_partitions = partitions, c.type = p.q_type;
  c.q_stride = p.heads_q * p.head_dim_qk;
  c.kv_block_stride = static_cast<int>(t.k.stride[0]), c.kv_seq_stride = static_cast<int>(t.k.stride[1]);
  c.kv_head_stride = static_cast<int>(t.k.stride[2]);
  launch_pa(c);
}

}  // namespace aiter_example

ASSAY_ATTENTION_LIBRARY("split_kv", aiter_example::takes, aiter_example::declare, aiter_example::launch)

#if defined(AITER_V1) || defined(AITER_MTP) || defined(AITER_FP8)
/// Whether a number of the tensor is larger than FP8 has one.
static bool is_beyond_fp8(const DLTensor& t) {
  std::int64_t count = 1;
  for (int d = 0; d < t.ndim; ++d) count *= t.shape[d];
  const auto* const codes =
      reinterpret_cast<const std::uint16_t*>(static_cast<const std::byte*>(t.data) + t.byte_offset);
  const int most = t.dtype.code == kDLBfloat ? 0x4370 : 0x5B80;  // 240
  return std::any_of(codes, codes + count, [&](int code) { return (code & 0x7FFF) > most; });
}

/// What fields cannot say: the kernels are compiled for a number of rows, cap what a window hides, and make NaN of a
/// query that is too large for FP8 (README.md).
extern "C" [[gnu::visibility("default")]] assay_status assay_supports_case_v1(const char*, const assay::problem* p,
                                                                              const assay_tensor* tensors,
                                                                              std::int32_t num_tensors) {
  constexpr int rows = aiter_example::rows_of_sequence;
  if (rows > 1 && p->num_seqs > 0 && p->max_q != rows)
    return assay::refuse(ASSAY_UNSUPPORTED, "each sequence has %d rows", rows);
#ifndef AITER_EVERYTHING
  if (p->window > 0 && p->soft_cap > 0) return assay::refuse(ASSAY_UNSUPPORTED, "a window and a soft cap");
#endif
  for (const assay_tensor* t = tensors; p->k_type != p->q_type && t != tensors + num_tensors; ++t)
    if (std::strcmp(t->name, "q") == 0 && is_beyond_fp8(t->view))
      return assay::refuse(ASSAY_UNSUPPORTED, "a query beyond 240");
  return {};
}
#endif
