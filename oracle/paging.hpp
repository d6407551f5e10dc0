/// Where rows and keys of a problem lie, and which keys a row sees: the oracle's own implementation of masks and
/// paging. Corner cases: semantics.md.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// Keys [begin, end); empty when end <= begin.
struct key_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return end <= begin; }
  std::int64_t size() const { return empty() ? 0 : end - begin; }
};
key_range intersect(key_range a, key_range b);

/// A key's place in the pool.
struct key_place {
  std::int64_t page;
  std::int64_t slot;
};

/// Whether a descale is valid: finite and above 0.
inline bool is_descale(double value) {
  return value > 0 && value < std::numeric_limits<double>::infinity();
}

/// The inputs of a problem by their names, checked for presence, rank, shape and type.
class problem_view {
 public:
  /// Throws std::invalid_argument when a tensor is missing or does not fit the problem.
  problem_view(const problem& stated, std::span<const named_tensor> inputs);

  const problem& stated() const { return stated_; }
  std::int64_t first_row(std::int64_t seq) const;  ///< of the sequence among all query rows; batch mode: seq * max_q
  std::int64_t row_count(std::int64_t seq) const;
  std::int64_t end_of_rows() const;  ///< of all sequences; the rows from there on are padding
  std::int64_t key_count(std::int64_t seq) const;
  std::int64_t sequence_of(std::int64_t row) const;
  std::int64_t heads_per_group() const { return stated_.heads_q / stated_.heads_kv; }

  /// Keys visible to the i-th row of a sequence (i counts within the sequence): always one range. Of mqa_logits these
  /// are the columns that hold logits; the range lies within [0, max_model_len) or is empty.
  key_range visible(std::int64_t seq, std::int64_t i) const;

  /// Where a key lies. Throws std::invalid_argument when the table has no such entry or the page is not in the pool.
  key_place place(std::int64_t seq, std::int64_t key) const;

  void load_query(std::int64_t row, std::int64_t head, double* values) const;  ///< head_dim_qk values
  /// head_dim_qk values, in whichever order the page holds its keys.
  void load_key(key_place at, std::int64_t head_kv, double* values) const;
  void load_value(key_place at, std::int64_t head_kv, double* values) const;  ///< head_dim_v values
  bool has_page_descales() const { return k_descale_ != nullptr; }
  /// Descales of a page of the pool, unchecked: the caller must check that they are finite and above 0. They are 1 with
  /// per-tensor descales. Ask only for pages that hold a live key: other entries may not be mapped.
  double k_descale(std::int64_t page, std::int64_t head_kv) const;
  double v_descale(std::int64_t page, std::int64_t head_kv) const;
  bool has_bias() const { return bias_ != nullptr; }
  double bias(std::int64_t head, std::int64_t row, std::int64_t key) const;
  double sink(std::int64_t head) const;  ///< -inf when there is none

  /// Of mqa_logits only.
  double weight(std::int64_t row, std::int64_t head) const;
  double key_scale(key_place at) const;

 private:
  const problem stated_;
  const tensor* q_;
  const tensor* k_;
  const tensor* v_ = nullptr;
  const tensor* weights_ = nullptr;
  const tensor* k_row_scale_ = nullptr;
  const tensor* k_descale_ = nullptr;
  const tensor* v_descale_ = nullptr;
  const tensor* cu_seqlens_q_ = nullptr;
  const tensor* seqlens_k_;
  const tensor* block_table_ = nullptr;
  const tensor* page_indptr_ = nullptr;
  const tensor* page_indices_ = nullptr;
  const tensor* prefix_offset_;
  const tensor* bias_;
  const tensor* sinks_;
};

}  // namespace assay::oracle
