/// The launches of aiter's template (pa_ragged.cpp.jinja), for the instance of a call.

#include <hip/hip_runtime.h>

#include <cstdint>
#include <sstream>  // which HIP's own headers include

#include "pa_ragged.cuh"
#include "pa_ragged.hpp"

namespace aiter_example {

/// A cache of T, or of FP8 in bytes.
template <class T>
struct cache_of {
#ifdef AITER_FP8
  using type = std::uint8_t;
  static constexpr auto kind = vllm::Fp8KVCacheDataType::kFp8E4M3;
#else
  using type = T;
  static constexpr auto kind = vllm::Fp8KVCacheDataType::kAuto;
#endif
};

template <class T, int HeadSize, int BlockSize, int Group, bool IsCapped>
static void launch_instance(const pa_ragged_call& c) {
  constexpr int threads = 256;
  using cache = typename cache_of<T>::type;
  using attention_variant = ck_tile::ComposedAttention<IsCapped ? ck_tile::LOGITS_SOFT_CAP : 0U>;
  const attention_variant variant;
  paged_attention_ll4mi_QKV_mfma16_kernel<T, cache, cache_of<T>::kind, BlockSize, HeadSize, threads,
                                          /*ALIBI_ENABLED=*/false, Group, rows_of_sequence, attention_variant>
      <<<dim3(c.num_seqs, c.max_num_partitions, c.num_kv_heads), threads, 0, nullptr>>>(
          static_cast<const T*>(c.query), static_cast<const cache*>(c.key_cache),
          static_cast<const cache*>(c.value_cache), c.scale, c.kv_indptr, c.kv_page_indices, c.kv_last_page_lens,
          nullptr, c.q_stride, c.kv_block_stride, c.kv_head_stride, c.kv_seq_stride, c.exp_sums, c.max_logits,
          static_cast<T*>(c.tmp_out), c.logits_soft_cap, IsCapped ? 1.0F / c.logits_soft_cap : 0.0F, nullptr, c.k_scale,
          c.v_scale, &variant);
  paged_attention_ll4mi_reduce_kernel<T, T, HeadSize, HeadSize, partition_size, /*NPAR_LOOPS=*/1, (BlockSize > 1)>
      <<<dim3(c.num_heads, c.num_seqs, rows_of_sequence), HeadSize, 0, nullptr>>>(
          static_cast<T*>(c.out), c.exp_sums, c.max_logits, static_cast<const T*>(c.tmp_out), c.kv_indptr,
          c.kv_last_page_lens, BlockSize, c.max_num_partitions, nullptr);
}

template <class T, int HeadSize, int BlockSize, int Group>
static void launch_group(const pa_ragged_call& c) {
  if (c.logits_soft_cap > 0)
    launch_instance<T, HeadSize, BlockSize, Group, true>(c);
  else
    launch_instance<T, HeadSize, BlockSize, Group, false>(c);
}

template <class T, int HeadSize, int BlockSize>
static void launch_sizes(const pa_ragged_call& c) {
  switch (c.num_heads / c.num_kv_heads) {
    case 1: return launch_group<T, HeadSize, BlockSize, 1>(c);
    case 5: return launch_group<T, HeadSize, BlockSize, 5>(c);
    case 8: return launch_group<T, HeadSize, BlockSize, 8>(c);
    case 16: return launch_group<T, HeadSize, BlockSize, 16>(c);
#ifdef AITER_EVERYTHING
    case 32: return launch_group<T, HeadSize, BlockSize, 32>(c);
#endif
    default: return;
  }
}

template <class T, int HeadSize>
static void launch_head(const pa_ragged_call& c) {
  if (c.block_size == 1) launch_sizes<T, HeadSize, 1>(c);
  if (c.block_size == 16) launch_sizes<T, HeadSize, 16>(c);
  if (c.block_size == 32) launch_sizes<T, HeadSize, 32>(c);
}

template <class T>
static void launch_type(const pa_ragged_call& c) {
  if (c.head_size == 64) launch_head<T, 64>(c);
  if (c.head_size == 128) launch_head<T, 128>(c);
}

void launch_pa_ragged(const pa_ragged_call& c) {
  if (c.type == assay::dtype::f16) launch_type<_Float16>(c);
  if (c.type == assay::dtype::bf16) launch_type<__hip_bfloat16>(c);
}

}  // namespace aiter_example
