/// Where the rows of an append_kv problem go: its tensors by name, and its rows by page.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"

namespace assay::oracle {

/// A row of the call that is not skipped.
struct appended_row {
  std::int64_t row = 0;
  std::int64_t slot = 0;      ///< within its page
  std::int64_t position = 0;  ///< row of the rotary tables; 0 without rotary
};

/// A page that receives at least one row.
struct appended_page {
  std::int64_t page = 0;
  std::vector<appended_row> rows;  ///< at least one; slots ascend

  bool is_fresh() const { return rows.front().slot == 0; }
};

/// One of the two pools, as it was before the call.
struct append_pool {
  const char* name = nullptr;
  const char* descale_name = nullptr;
  const tensor* added = nullptr;    ///< [total_q, heads, dim]
  const tensor* pool = nullptr;     ///< [num_pages, page_size, heads, dim]
  const tensor* descale = nullptr;  ///< [num_pages, heads]; null with per-tensor descales
  std::int64_t dim = 0;
  double scale = 1;           ///< with per-tensor descales
  bool is_rotated = false;    ///< its rows are rotated before they are stored
  bool is_quantised = false;  ///< its type is not the rows' type
};

/// The inputs of the problem, checked. Does not read the pools.
class append_view {
 public:
  /// Throws std::invalid_argument when a tensor is missing or does not fit the problem, a slot or a position is
  /// out of range, or two rows go to one slot.
  append_view(const problem& stated, std::span<const named_tensor> inputs);

  const problem& stated() const { return stated_; }
  const append_pool& k() const { return k_; }
  const append_pool& v() const { return v_; }
  const std::vector<appended_page>& pages() const { return pages_; }  ///< ascending

  /// cos and sin of a pair of elements at a position.
  double cosine(std::int64_t position, std::int64_t pair) const;
  double sine(std::int64_t position, std::int64_t pair) const;

 private:
  void take_pools(std::span<const named_tensor> inputs);
  void take_tables(std::span<const named_tensor> inputs);
  void place_rows(const tensor& slots);
  std::int64_t position_of(std::int64_t row) const;

  const problem stated_;
  append_pool k_, v_;
  std::vector<appended_page> pages_;
  const tensor* positions_ = nullptr;
  const tensor* cosines_ = nullptr;
  const tensor* sines_ = nullptr;
};

}  // namespace assay::oracle
