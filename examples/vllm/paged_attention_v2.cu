/// vLLM's paged_attention_v2: a block takes a partition of 512 keys, and a second kernel joins the partitions.
#include "paged_attention.hpp"

#include <algorithm>

namespace vllm_example {

static constexpr int partition_size = 512;  ///< as vLLM's launcher has it

template <class I>
static void launch_instance(const decode_call& c) {
  using scalar = typename I::scalar;
  using cache = typename I::cache;
  const int partitions = (c.max_seq_len + partition_size - 1) / partition_size;
  const partials w(c, partitions);
  auto* const sums = static_cast<float*>(w.exp_sums.data());
  auto* const maxima = static_cast<float*>(w.max_logits.data());
  auto* const tmp_out = static_cast<scalar*>(w.tmp_out.data());
  const int lds_sums = num_threads / WARP_SIZE / 2 * I::head_size;
  const int shared_bytes = std::max(partition_size, lds_sums) * static_cast<int>(sizeof(float));
  const int reduce_bytes = 2 * partitions * static_cast<int>(sizeof(float));
  // Without any key vLLM asks for no blocks, which CUDA refuses, and does not look at the error.
  if (partitions > 0)
    vllm::paged_attention_v2_kernel<scalar, cache, I::head_size, I::block_size, num_threads, I::kind,
                                    /*IS_BLOCK_SPARSE=*/false, partition_size>
        <<<dim3(c.num_heads, c.num_seqs, partitions), num_threads, shared_bytes, nullptr>>>(
            sums, maxima, tmp_out, static_cast<const scalar*>(c.query), static_cast<const cache*>(c.key_cache),
            static_cast<const cache*>(c.value_cache), c.num_kv_heads, c.scale, c.block_tables, c.seq_lens,
            c.max_num_blocks_per_seq, nullptr, c.q_stride, c.kv_block_stride, c.kv_head_stride, c.k_scale, c.v_scale, 0,
            0, 0, 64, 0);
  vllm::paged_attention_v2_reduce_kernel<scalar, I::head_size, num_threads, partition_size>
      <<<dim3(c.num_heads, c.num_seqs), num_threads, reduce_bytes, nullptr>>>(static_cast<scalar*>(c.out), sums, maxima,
                                                                              tmp_out, c.seq_lens, partitions);
}

static constexpr assay_support takes = paged_attention_support();

static void launch(const assay::problem& p, const assay::attention_tensors& t) {
  with_decode_call(p, t, [](const decode_call& c) { with_instance(c, [&]<class I>(I) { launch_instance<I>(c); }); });
}

}  // namespace vllm_example

ASSAY_ATTENTION_LIBRARY("split_kv", vllm_example::takes, assay::vllm_paged_attention, vllm_example::launch)
