/// aiter's attention over a list of pages: the launches of its template, pa_ragged.cpp.jinja.
#include "pa_instances.hpp"

#include "pa_ragged.cuh"

namespace aiter_example {

template <class I>
static void launch_instance(const pa_call& c) {
  using scalar = typename I::scalar;
  using cache = typename I::cache;
  constexpr int threads = 256;
  const typename I::variant variant;
  paged_attention_ll4mi_QKV_mfma16_kernel<scalar, cache, I::kind, I::block_size, I::head_size, threads,
                                          /*ALIBI_ENABLED=*/false, I::group, rows_of_sequence, typename I::variant>
      <<<dim3(c.num_seqs, c.max_num_partitions, c.num_kv_heads), threads, 0, nullptr>>>(
          static_cast<const scalar*>(c.query), static_cast<const cache*>(c.key_cache),
          static_cast<const cache*>(c.value_cache), c.scale, c.kv_indptr, c.kv_page_indices, c.kv_last_page_lens,
          nullptr, c.q_stride, c.kv_block_stride, c.kv_head_stride, c.kv_seq_stride, c.exp_sums, c.max_logits,
          static_cast<scalar*>(c.tmp_out), c.logits_soft_cap, I::is_capped ? 1.0F / c.logits_soft_cap : 0.0F, nullptr,
          c.k_scale, c.v_scale, &variant);
  paged_attention_ll4mi_reduce_kernel<scalar, scalar, I::head_size, I::head_size, partition_size, /*NPAR_LOOPS=*/1,
                                      (I::block_size > 1)>
      <<<dim3(c.num_heads, c.num_seqs, rows_of_sequence), I::head_size, 0, nullptr>>>(
          static_cast<scalar*>(c.out), c.exp_sums, c.max_logits, static_cast<const scalar*>(c.tmp_out), c.kv_indptr,
          c.kv_last_page_lens, I::block_size, c.max_num_partitions, nullptr);
}

void launch_pa(const pa_call& c) {
  with_instance(c, [&]<class I>(I) { launch_instance<I>(c); });
}

}  // namespace aiter_example
