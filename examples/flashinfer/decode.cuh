/// The launch of one type and variant; each has a source of its own, since FlashInfer's launcher instantiates kernels
/// for all sizes of a group.
#pragma once

#include "decode.hpp"

// In FlashInfer's sources decode.cuh comes last, too.
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/variants.cuh>

#include <flashinfer/attention/decode.cuh>

template <class T>
static T* data_of(const assay::tensor& t) {
  return static_cast<T*>(t.data);
}

template <class T, bool HasSoftCap>
void decode(const assay::problem& p, const assay::attention_tensors& t, decode_plan& plan) {
  using namespace flashinfer;
  using variant = DefaultAttention<false, true, HasSoftCap, false>;  // no custom mask, a window, no ALiBi
  using params_type = BatchDecodeParams<T, T, T, std::int32_t>;
  const auto unsigned_of = [](std::int32_t x) { return static_cast<std::uint32_t>(x); };
  const paged_kv_t<T, std::int32_t> cache(
      unsigned_of(p.heads_kv), unsigned_of(p.page_size), unsigned_of(p.head_dim_qk), unsigned_of(p.num_seqs),
      QKVLayout::kNHD, data_of<T>(t.k), data_of<T>(t.v), t.k.stride, t.v.stride,
      data_of<std::int32_t>(t.page_indices), data_of<std::int32_t>(t.page_indptr), plan.last_page_len.get());
  params_type params(data_of<T>(t.q), nullptr, cache, data_of<T>(t.o), data_of<float>(t.lse), nullptr,
                     unsigned_of(p.heads_q), static_cast<std::int32_t>(t.q.stride[0]),
                     static_cast<std::int32_t>(t.q.stride[1]), p.window - 1, p.soft_cap, p.scale, 1.0F, 1e4F);
  params.padded_batch_size = unsigned_of(plan.blocks);
  params.request_indices = plan.request_indices.get(), params.kv_tile_indices = plan.kv_tile_indices.get();
  params.o_indptr = plan.o_indptr.get(), params.kv_chunk_size_ptr = plan.kv_chunk_size.get();

  const auto parts = static_cast<std::size_t>(plan.blocks) * static_cast<std::size_t>(p.heads_q);
  device_array<T> o_of_parts(parts * static_cast<std::size_t>(p.head_dim_v));
  device_array<float> lse_of_parts(parts);
  T* const o = plan.is_partitioned ? o_of_parts.get() : nullptr;
  constexpr PosEncodingMode no_rotation = PosEncodingMode::kNone;
  const cudaError_t error =
      p.head_dim_qk == 64
          ? BatchDecodeWithPagedKVCacheDispatched<64, no_rotation, variant>(params, o, lse_of_parts.get(), false, nullptr)
          : BatchDecodeWithPagedKVCacheDispatched<128, no_rotation, variant>(params, o, lse_of_parts.get(), false,
                                                                             nullptr);
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
