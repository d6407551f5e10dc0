/// One call of aiter's paged attention.
#pragma once

#include <cstddef>

#include "kernels/tensor.hpp"

namespace aiter_example {

constexpr int partition_size = 256, most_partitions = 64;  ///< keys of a block; blocks of one loop of the second kernel
constexpr int groups[] = {1, 5, 8, 16};
#ifdef AITER_MTP
constexpr int rows_of_sequence = AITER_MTP;  ///< multi-token prediction
#else
constexpr int rows_of_sequence = 1;
#endif

/// Memory of hipMalloc that holds no numbers.
class device_memory {
 public:
  explicit device_memory(std::size_t size_bytes);
  ~device_memory();
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// What aiter's launchers get, in their words (a block is a page, a sequence stride that of a slot), and their
/// workspace in three parts.
struct pa_call {
  void* out;
  const void *query, *key_cache, *value_cache;
  float *exp_sums, *max_logits;
  void* tmp_out;
  const int *kv_indptr, *kv_page_indices, *kv_last_page_lens;  ///< of pa_ragged
  const int *block_tables, *context_lens;                      ///< of pa_v1
  const float *k_scale, *v_scale;
  float scale, logits_soft_cap;
  int num_seqs, num_kv_heads, num_heads, head_size, block_size, max_num_partitions, max_num_blocks_per_seq;
  int q_stride, kv_block_stride, kv_head_stride, kv_seq_stride, sliding_window;
  assay::dtype type;
};

/// Both kernels: attention of each partition, and the sum over partitions.
void launch_pa(const pa_call& c);

}  // namespace aiter_example
