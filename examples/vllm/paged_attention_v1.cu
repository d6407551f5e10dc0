/// vLLM's paged_attention_v1: a block takes all keys of a sequence and head.
#include "paged_attention.hpp"

#include <algorithm>

namespace vllm_example {

template <class I>
static void launch_instance(const decode_call& c) {
  using scalar = typename I::scalar;
  using cache = typename I::cache;
  const int logits = (c.max_seq_len + I::block_size - 1) / I::block_size * I::block_size;
  const int sums = num_threads / WARP_SIZE / 2 * I::head_size;
  const int shared_bytes = std::max(logits, sums) * static_cast<int>(sizeof(float));
  const auto kernel = vllm::paged_attention_v1_kernel<scalar, cache, I::head_size, I::block_size, num_threads, I::kind,
                                                      /*IS_BLOCK_SPARSE=*/false>;
  VLLM_DevFuncAttribute_SET_MaxDynamicSharedMemorySize(kernel, shared_bytes);
  kernel<<<dim3(c.num_heads, c.num_seqs, 1), num_threads, shared_bytes, nullptr>>>(
      static_cast<scalar*>(c.out), static_cast<const scalar*>(c.query), static_cast<const cache*>(c.key_cache),
      static_cast<const cache*>(c.value_cache), c.num_kv_heads, c.scale, c.block_tables, c.seq_lens,
      c.max_num_blocks_per_seq, nullptr, c.q_stride, c.kv_block_stride, c.kv_head_stride, c.k_scale, c.v_scale, 0, 0, 0,
      64, 0);
}

static constexpr assay_support takes = [] {
  assay_support s = paged_attention_support();
  s.most_keys = 50000;  // the logits lie in the LDS
  return s;
}();

static assay::contract declare(const assay::problem& p) {
  assay::contract c = assay::vllm_paged_attention(p);
  c.partial_type = assay::dtype::f32;  // there are no partitions
  return c;
}

static void launch(const assay::problem& p, const assay::attention_tensors& t) {
  with_decode_call(p, t, [](const decode_call& c) { with_instance(c, [&]<class I>(I) { launch_instance<I>(c); }); });
}

}  // namespace vllm_example

ASSAY_ATTENTION_LIBRARY("split_kv", vllm_example::takes, vllm_example::declare, vllm_example::launch)
