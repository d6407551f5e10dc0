#include "decode.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include <hip/hip_runtime.h>

namespace vllm_example {
namespace {

/// Elements behind each page and head: a tile of a kernel that runs past its page reads NaN.
constexpr std::int64_t gap = 64;

#ifdef VLLM_AS_ALLOCATED
constexpr bool is_as_allocated = true;
#else
constexpr bool is_as_allocated = false;
#endif

std::int64_t head_elements(const assay::problem& p) {
  return std::int64_t{p.page_size} * p.head_dim_qk + gap;
}

std::size_t pool_bytes(const assay::problem& p, const assay::tensor& pool) {
  const std::int64_t behind = is_as_allocated ? 4096 : 0;
  return static_cast<std::size_t>(p.num_pages * p.heads_kv * head_elements(p) * size_bytes(pool.type) + behind);
}

/// Q with 512 bytes behind it, into which torch's allocator rounds a size up.
void copy_query(const assay::problem& p, const assay::tensor& q, const device_memory& copy, decode_call& c) {
  const auto row_bytes = static_cast<std::size_t>(p.heads_q * p.head_dim_qk * size_bytes(q.type));
  for (std::int64_t row = 0; row < p.total_q; ++row)
    std::memcpy(static_cast<std::byte*>(copy.data()) + static_cast<std::size_t>(row) * row_bytes,
                static_cast<const std::byte*>(q.data) + q.offset(row) * size_bytes(q.type), row_bytes);
  c.query = copy.data(), c.q_stride = p.heads_q * p.head_dim_qk;
}

}  // namespace

device_memory::device_memory(std::size_t size_bytes) {
  if (hipMalloc(&data_, std::max<std::size_t>(size_bytes, 16)) != hipSuccess) throw std::bad_alloc();
  std::memset(data_, 0xff, size_bytes);  // NaN in each type
}

device_memory::~device_memory() {
  static_cast<void>(hipFree(data_));
}

static std::size_t bytes_of_partials(const decode_call& c, int partitions, int elements, std::size_t element_bytes) {
  return static_cast<std::size_t>(c.num_seqs) * static_cast<std::size_t>(c.num_heads) *
         static_cast<std::size_t>(partitions) * static_cast<std::size_t>(elements) * element_bytes;
}

partials::partials(const decode_call& c, int partitions)
    : exp_sums(bytes_of_partials(c, partitions, 1, sizeof(float))),
      max_logits(bytes_of_partials(c, partitions, 1, sizeof(float))),
      tmp_out(bytes_of_partials(c, partitions, c.head_size, 2)) {}

cache_copy::cache_copy(const assay::problem& p, const assay::attention_tensors& t, const assay::tensor& pool,
                       std::int64_t x)
    : head_stride_(head_elements(p)), page_stride_(p.heads_kv * head_stride_), memory_(pool_bytes(p, pool)) {
  const auto* const keys = static_cast<const int*>(t.seqlens_k.data);
  const auto* const table = static_cast<const int*>(t.block_table.data);
  std::vector<int> live_slots(static_cast<std::size_t>(p.num_pages));  // of each page: sequences may share it
  for (int s = 0; s < p.num_seqs; ++s) {
    for (int first = 0; first < keys[s]; first += p.page_size) {
      int& live = live_slots[static_cast<std::size_t>(table[t.block_table.offset(s, first / p.page_size)])];
      live = std::max(live, std::min(p.page_size, keys[s] - first));
    }
  }
  for (std::size_t page = 0; page < live_slots.size(); ++page)
    if (live_slots[page] > 0) copy_page(pool, static_cast<std::int64_t>(page), x, live_slots[page]);
}

void cache_copy::copy_page(const assay::tensor& pool, std::int64_t page, std::int64_t x, std::int64_t live_slots) {
  const std::int64_t slots = pool.shape[1], dims = pool.shape[3], size = size_bytes(pool.type);
  const auto* const from = static_cast<const std::byte*>(pool.data);
  auto* const to = static_cast<std::byte*>(memory_.data());
  for (std::int64_t head = 0; head < pool.shape[2]; ++head) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      for (std::int64_t d = 0; d < dims; ++d) {
        const std::int64_t in_head = x == 0 ? d * slots + slot : (d / x * slots + slot) * x + d % x;
        auto* const element = to + (page * page_stride_ + head * head_stride_ + in_head) * size;
        if (is_as_allocated && x == 0 && slot >= live_slots)
          std::memset(element, 0, static_cast<std::size_t>(size));
        else
          std::memcpy(element, from + pool.offset(page, slot, head, d) * size, static_cast<std::size_t>(size));
      }
    }
  }
}

void with_decode_call(const assay::problem& p, const assay::attention_tensors& t, void (*launch)(const decode_call&)) {
  constexpr std::int64_t x = 8;  // 16 bytes of f16 or bf16, which are all types that the kernels take here
  const cache_copy k(p, t, t.k, x);
  const cache_copy v(p, t, t.v, 0);
  const device_memory scales(2 * sizeof(float));
  auto* const scale = static_cast<float*>(scales.data());
  scale[0] = p.k_scale, scale[1] = p.v_scale;
  decode_call c{};
  c.out = t.o.data, c.query = t.q.data, c.key_cache = k.data(), c.value_cache = v.data();
  c.num_seqs = p.num_seqs, c.num_heads = p.heads_q, c.num_kv_heads = p.heads_kv;
  c.head_size = p.head_dim_qk, c.block_size = p.page_size, c.scale = p.scale;
  c.block_tables = static_cast<const int*>(t.block_table.data), c.seq_lens = static_cast<const int*>(t.seqlens_k.data);
  c.max_num_blocks_per_seq = static_cast<int>(t.block_table.shape[1]), c.max_seq_len = p.max_k;
  c.q_stride = static_cast<int>(p.total_q > 1 ? t.q.stride[0] : p.heads_q * p.head_dim_qk);
  c.kv_block_stride = k.page_stride(), c.kv_head_stride = k.head_stride();
  c.k_scale = scale, c.v_scale = scale + 1, c.type = p.q_type, c.cache_type = p.k_type;
  const device_memory query(
      static_cast<std::size_t>(std::int64_t{p.total_q} * p.heads_q * p.head_dim_qk * size_bytes(p.q_type)) + 512);
  if (is_as_allocated) copy_query(p, t.q, query, c);
  launch(c);
}

}  // namespace vllm_example
