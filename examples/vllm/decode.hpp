/// One call of a decoding kernel of vLLM: the arguments that its launchers read off torch's tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/attention_library.hpp"

namespace vllm_example {

/// Memory of hipMalloc.
class device_memory {
 public:
  explicit device_memory(std::size_t size_bytes);
  ~device_memory();
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// The pool of K or of V in vLLM's order, which strides of [page, slot, head, dim] cannot state: K as
/// [page, head, dim / x, slot, x] with 16 bytes of x, V as [page, head, dim, slot]. A copy of the pages that the table
/// names for live keys, dead slots and all. All else, and a gap behind each page, is NaN. With VLLM_AS_ALLOCATED the
/// dead slots of V are zeros, as in a cache that vLLM has just allocated.
class cache_copy {
 public:
  /// `x`: elements of a key that lie together; 0 of V.
  cache_copy(const assay::problem& p, const assay::attention_tensors& t, const assay::tensor& pool, std::int64_t x);
  const void* data() const { return memory_.data(); }
  int page_stride() const { return static_cast<int>(page_stride_); }
  int head_stride() const { return static_cast<int>(head_stride_); }

 private:
  void copy_page(const assay::tensor& pool, std::int64_t page, std::int64_t x, std::int64_t live_slots);

  std::int64_t head_stride_, page_stride_;  ///< in elements
  device_memory memory_;
};

/// The kernels' arguments of these names, in vLLM's words (a block is a page).
struct decode_call {
  void* out;
  const void *query, *key_cache, *value_cache;
  int num_seqs, num_heads, num_kv_heads, head_size, block_size;
  float scale;
  const int *block_tables, *seq_lens;
  int max_num_blocks_per_seq, max_seq_len;
  int q_stride, kv_block_stride, kv_head_stride;
  const float *k_scale, *v_scale;
  assay::dtype type, cache_type;
};

/// What the partitions of a row and head leave for the second kernel.
struct partials {
  device_memory exp_sums, max_logits, tmp_out;
  partials(const decode_call& c, int partitions);
};

/// What all of these kernels take: one row of each sequence, dense tensors, and no mask or bias that Assay has. A
/// kernel adds its sizes and types.
constexpr assay_support decode_support() {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.head_dims.values[0] = 64, s.head_dims.values[1] = 128;
  s.most_sequences = s.most_heads_q = assay::max_grid_extent;
  s.most_rows = 1;
  s.most_pool_bytes = std::int64_t{1} << 26;  // of the copy
  s.most_splits = 1;
  s.no_window = s.no_prefix_offset = s.no_soft_cap = s.no_sinks = 1;
  s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = 1;
  s.no_page_descales = s.no_q_scale = s.no_unequal_head_dims = 1;
  s.no_page_list = s.no_group = s.no_padding_rows = 1;
  s.input_alignment = 8;  // vectors of 16 bytes of Q
  s.no_q_heads_outermost = s.no_q_transposed = s.no_input_margins = s.no_output_margins = 1;
  s.no_live_infinity = 1;  // a logit of -inf weighs an infinite value 0: NaN, also where it is the only key
  s.no_split_count = s.no_lse = s.no_partials = 1;
  return s;
}

/// Copies the caches, and calls `launch` with the arguments of the problem.
void with_decode_call(const assay::problem& p, const assay::attention_tensors& t, void (*launch)(const decode_call&));

}  // namespace vllm_example
