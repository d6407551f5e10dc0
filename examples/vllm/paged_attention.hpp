/// What vLLM's paged_attention_v1 and _v2 share: the checkout's kernels, and the choice among their instances.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "attention/attention_kernels.cuh"
#include "decode.hpp"
#include "kernels/contract_recipes.hpp"

namespace vllm_example {

inline constexpr int num_threads = 128;  ///< as vLLM's launchers have it

constexpr assay_support paged_attention_support() {
  assay_support s = decode_support();
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.types[1] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  s.page_sizes.values[0] = 16, s.page_sizes.values[1] = 32;
  s.no_k_scale = s.no_v_scale = 1;
  s.no_wave_64 = 1;
  return s;
}

/// An instance of the kernels.
template <class T, class Cache, vllm::Fp8KVCacheDataType Kind, int HeadSize, int BlockSize>
struct instance {
  using scalar = T;
  using cache = Cache;
  static constexpr vllm::Fp8KVCacheDataType kind = Kind;
  static constexpr int head_size = HeadSize, block_size = BlockSize;
};

template <class T, class Cache, vllm::Fp8KVCacheDataType Kind, class Launch>
void with_sizes(const decode_call& c, Launch launch) {
  const auto with_block = [&]<int HeadSize> {
    if (c.block_size == 16) launch(instance<T, Cache, Kind, HeadSize, 16>{});
    if (c.block_size == 32) launch(instance<T, Cache, Kind, HeadSize, 32>{});
  };
  if (c.head_size == 64) with_block.template operator()<64>();
  if (c.head_size == 128) with_block.template operator()<128>();
}

/// Calls `launch` with the instance of the call's types and sizes. vLLM's f16 is uint16_t.
template <class Launch>
void with_instance(const decode_call& c, Launch launch) {
  using kind = vllm::Fp8KVCacheDataType;
  if (c.type == assay::dtype::f16) with_sizes<std::uint16_t, std::uint16_t, kind::kAuto>(c, launch);
  if (c.type == assay::dtype::bf16) with_sizes<__nv_bfloat16, __nv_bfloat16, kind::kAuto>(c, launch);
}

}  // namespace vllm_example
