/// The instances of aiter's kernels that the libraries have. aiter compiles them when they are asked for.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <sstream>  // which HIP's own headers include

#include "pa_call.hpp"
#include "pa_kernels.cuh"

namespace aiter_example {

template <class T, int HeadSize, int BlockSize, int Group, bool IsCapped>
struct instance {
  using scalar = T;
#ifdef AITER_FP8
  using cache = std::uint8_t;
  static constexpr auto kind = vllm::Fp8KVCacheDataType::kFp8E4M3;
#else
  using cache = T;
  static constexpr auto kind = vllm::Fp8KVCacheDataType::kAuto;
#endif
  static constexpr int head_size = HeadSize, block_size = BlockSize, group = Group;
  static constexpr bool is_capped = IsCapped;
  using variant = ck_tile::ComposedAttention<IsCapped ? ck_tile::LOGITS_SOFT_CAP : 0U>;
};

template <class T, int HeadSize, int BlockSize, class Launch>
void with_group(const pa_call& c, Launch launch) {
  const auto of = [&]<int Group> {
    if (c.num_heads != Group * c.num_kv_heads) return;
    c.logits_soft_cap > 0 ? launch(instance<T, HeadSize, BlockSize, Group, true>{})
                          : launch(instance<T, HeadSize, BlockSize, Group, false>{});
  };
  of.template operator()<groups[0]>();
  of.template operator()<groups[1]>();
  of.template operator()<groups[2]>();
  of.template operator()<groups[3]>();
#ifdef AITER_EVERYTHING
  of.template operator()<32>();
#endif
}

template <class T, int HeadSize, class Launch>
void with_block(const pa_call& c, Launch launch) {
#ifndef AITER_V1
  if (c.block_size == 1) with_group<T, HeadSize, 1>(c, launch);
#endif
  if (c.block_size == 16) with_group<T, HeadSize, 16>(c, launch);
  if (c.block_size == 32) with_group<T, HeadSize, 32>(c, launch);
}

template <class T, class Launch>
void with_head(const pa_call& c, Launch launch) {
  if (c.head_size == 64) with_block<T, 64>(c, launch);
  if (c.head_size == 128) with_block<T, 128>(c, launch);
}

/// Calls `launch` with the instance of the call.
template <class Launch>
void with_instance(const pa_call& c, Launch launch) {
  if (c.type == assay::dtype::f16) with_head<_Float16>(c, launch);
  if (c.type == assay::dtype::bf16) with_head<__hip_bfloat16>(c, launch);
}

}  // namespace aiter_example
