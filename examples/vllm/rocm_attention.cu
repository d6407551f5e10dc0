/// vLLM's attention for AMD GPUs: a block takes a partition of 256 keys by MFMA, and a second kernel joins the
/// partitions. Kernels and launchers stand in one source file, which is included. The build names the architecture.
#include <hip/hip_runtime.h>

#include <torch/all.h>
#include <cstdint>

#include "hipified.h"
#include "without_fp8.h"

/// The launchers of the source instantiate some thousand kernels. Its calls fit this better, so that it instantiates
/// none.
template <class, class, auto, int, int, class, int, bool, auto, class... Arguments>
void paged_attention_custom_launcher(torch::Tensor&, torch::Tensor&, torch::Tensor&, torch::Tensor&, torch::Tensor&,
                                     torch::Tensor&, torch::Tensor&, std::int64_t, double, Arguments&&...) {}
template <class, class, auto, int, int, class, int, bool, auto, class... Arguments>
void paged_attention_custom_launcher_navi(torch::Tensor&, torch::Tensor&, torch::Tensor&, torch::Tensor&,
                                          torch::Tensor&, torch::Tensor&, torch::Tensor&, std::int64_t, double,
                                          Arguments&&...) {}

#include "rocm/attention.cu"

#include "decode.hpp"
#include "kernels/contract_recipes.hpp"

namespace vllm_example {

static constexpr int num_threads = 256, partition_size = 256;  ///< as vLLM's launcher has them

template <class T, int HeadSize, int BlockSize>
struct instance {
  using scalar = T;
  static constexpr int head_size = HeadSize, block_size = BlockSize;
};

/// Of CDNA, the kernel of 4x4x4 MFMA takes up to 4 query heads of a kv head, and that of 16x16x16 more. RDNA has but
/// one.
#ifdef __GFX9__
static constexpr int most_of_small = 4;
#else
static constexpr int most_of_small = 0;
#endif

template <class I, int Group>
static void launch_attention(const decode_call& c, const partials& w, int partitions) {
  using scalar = typename I::scalar;
  constexpr auto kind = vllm::Fp8KVCacheDataType::kAuto;
  const auto start = [&](auto kernel) {
    kernel<<<dim3(c.num_seqs, partitions, c.num_kv_heads), num_threads, 0, nullptr>>>(
        static_cast<const scalar*>(c.query), static_cast<const scalar*>(c.key_cache),
        static_cast<const scalar*>(c.value_cache), c.num_kv_heads, c.scale, c.block_tables, c.seq_lens, nullptr,
        c.max_num_blocks_per_seq, nullptr, c.q_stride, c.kv_block_stride, c.kv_head_stride,
        static_cast<float*>(w.exp_sums.data()), static_cast<float*>(w.max_logits.data()),
        static_cast<scalar*>(w.tmp_out.data()), static_cast<scalar*>(c.out),
        (c.max_seq_len + I::block_size - 1) / I::block_size, c.k_scale, c.v_scale);
  };
  if constexpr (Group <= most_of_small)
    start(paged_attention_ll4mi_QKV_mfma4_kernel<scalar, scalar, kind, scalar, I::block_size, I::head_size, num_threads,
                                                 false, Group>);
  else
    start(paged_attention_ll4mi_QKV_mfma16_kernel<scalar, scalar, kind, scalar, I::block_size, I::head_size,
                                                  num_threads, false, Group, MFMAType::F16>);
}

template <class I>
static void launch_instance(const decode_call& c) {
  using scalar = typename I::scalar;
  const int partitions = (c.max_seq_len + partition_size - 1) / partition_size;
  const partials w(c, partitions);
  switch (c.num_heads / c.num_kv_heads) {
    case 1: launch_attention<I, 1>(c, w, partitions); break;
    case 3: launch_attention<I, 3>(c, w, partitions); break;
    case 4: launch_attention<I, 4>(c, w, partitions); break;
    case 5: launch_attention<I, 5>(c, w, partitions); break;
    case 8: launch_attention<I, 8>(c, w, partitions); break;
    default: launch_attention<I, 16>(c, w, partitions); break;
  }
  paged_attention_ll4mi_reduce_kernel<scalar, scalar, I::head_size, I::head_size, partition_size, 1>
      <<<dim3(c.num_heads, c.num_seqs), I::head_size, 0, nullptr>>>(
          static_cast<scalar*>(c.out), static_cast<const float*>(w.exp_sums.data()),
          static_cast<const float*>(w.max_logits.data()), static_cast<const scalar*>(w.tmp_out.data()), c.seq_lens,
          nullptr, partitions, nullptr);
}

template <class T>
static void launch_type(const decode_call& c) {
  if (c.head_size == 64) launch_instance<instance<T, 64, 16>>(c);
  if (c.head_size == 128) launch_instance<instance<T, 128, 16>>(c);
}

static constexpr assay_support takes = [] {
  assay_support s = decode_support();
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  s.page_sizes.values[0] = 16;
  constexpr int groups[] = {1, 3, 4, 5, 8, 16};
  for (int i = 0; i < 6; ++i) s.group_sizes.values[i] = groups[i];
  s.most_keys = partition_size * ASSAY_WAVE_SIZE;  // what one loop of the second kernel takes
  s.no_k_scale = s.no_v_scale = 1;
  s.no_live_nan = 1;  // the transpose of the 4x4x4 MFMA multiplies the other heads by 0
  s.no_sequences_without_keys = s.no_rows_without_keys =
      1;  // the second kernel loads what lies before the first partition
  (ASSAY_WAVE_SIZE == 64 ? s.no_wave_32 : s.no_wave_64) = 1;
  return s;
}();

/// P is normalised and rounded to the type of V before MFMA, and the outputs of a partition are rounded. The kernel of
/// small groups rounds those of its four waves, and adds them in that type: in bf16 it truncates, which costs twice.
static assay::contract declare(const assay::problem& p) {
  assay::contract c = assay::in_any_order(p);
  c.tile_keys = 16;
  c.qk = c.pv = assay::accumulation{4, 24, 10.0F, 0x1p-23F, 0x1p-126F};
  c.p_type = c.partial_type = p.q_type;
  if (p.heads_q / p.heads_kv <= most_of_small) {
    c.product_type = p.q_type;
    c.product_roundings = p.q_type == assay::dtype::f16 ? 5 : 9;
  }
  c.sum_roundings = 16;
  c.normalises_p = 1;
  c.sum_epsilon = 2.2e-6F;
  return c;
}

static void launch(const assay::problem& p, const assay::attention_tensors& t) {
  with_decode_call(p, t, [](const decode_call& c) {
    if (c.type == assay::dtype::f16) launch_type<_Float16>(c);
    if (c.type == assay::dtype::bf16) launch_type<__hip_bfloat16>(c);
  });
}

}  // namespace vllm_example

ASSAY_ATTENTION_LIBRARY("split_kv", vllm_example::takes, vllm_example::declare, vllm_example::launch)
