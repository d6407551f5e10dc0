#include "flash_attn_vec.hpp"

#include "fattn-vec.cuh"

namespace {

std::size_t bytes_of(ggml_type type) {
  return type == GGML_TYPE_F32 ? 4 : 2;
}

/// A dense tensor of these extents.
ggml_tensor dense(ggml_type type, void* data, std::int64_t e0, std::int64_t e1, std::int64_t e2, std::int64_t e3) {
  ggml_tensor t{};
  t.type = type;
  t.data = data;
  const std::int64_t extents[] = {e0, e1, e2, e3};
  std::size_t stride = bytes_of(type);
  for (int d = 0; d < GGML_MAX_DIMS; ++d) {
    t.ne[d] = extents[d];
    t.nb[d] = stride;
    stride *= static_cast<std::size_t>(extents[d]);
  }
  return t;
}

/// The same with the second and third dimension exchanged: what ggml_permute(0, 2, 1, 3) does to Q, K and V.
ggml_tensor permuted(ggml_tensor t) {
  std::swap(t.ne[1], t.ne[2]);
  std::swap(t.nb[1], t.nb[2]);
  return t;
}

}  // namespace

void flash_attn_vec(const assay::problem& p, kv_cache& cache, const float* sinks) {
  const stream_range& of = cache.of;
  ggml_tensor q = permuted(dense(GGML_TYPE_F32, cache.q.get(), p.head_dim_qk, p.heads_q, of.rows, of.count));
  ggml_tensor k = permuted(dense(GGML_TYPE_F16, cache.k.get(), p.head_dim_qk, p.heads_kv, cache.cells, of.count));
  ggml_tensor v = permuted(dense(GGML_TYPE_F16, cache.v.get(), p.head_dim_v, p.heads_kv, cache.cells, of.count));
  ggml_tensor mask = dense(GGML_TYPE_F16, cache.mask.get(), cache.cells, of.rows, 1, of.count);
  ggml_tensor sink = dense(GGML_TYPE_F32, const_cast<float*>(sinks), p.heads_q, 1, 1, 1);
  ggml_tensor dst = dense(GGML_TYPE_F32, cache.dst.get(), p.head_dim_v, p.heads_q, of.rows, of.count);
  dst.op = GGML_OP_FLASH_ATTN_EXT;
  const float parameters[] = {p.scale, 0.0F, p.soft_cap};  // the second one is ALiBi's
  std::memcpy(dst.op_params, parameters, sizeof parameters);
  ggml_tensor* const sources[] = {&q, &k, &v, &mask, sinks == nullptr ? nullptr : &sink};
  std::copy(std::begin(sources), std::end(sources), dst.src);

  ggml_backend_cuda_context context(0);
  if (p.head_dim_qk == 64)
    ggml_cuda_flash_attn_ext_vec_case<64, GGML_TYPE_F16, GGML_TYPE_F16>(context, &dst);
  else
    ggml_cuda_flash_attn_ext_vec_case<128, GGML_TYPE_F16, GGML_TYPE_F16>(context, &dst);
}
