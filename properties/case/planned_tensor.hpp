/// A planned tensor, as an operation describes it; it has no memory yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/tensor.hpp"

namespace assay {

/// What a kernel does with a tensor.
enum class tensor_role { input, output, in_out };

/// What fills a tensor (data/fill.cpp has a function for each). `unwritten`: nothing, it is an output.
enum class tensor_content {
  unwritten,
  queries,
  keys,
  values,
  weights,
  key_scales,
  k_descales,
  v_descales,
  bias,
  sinks,
  new_keys,
  new_values,
  rope_cosines,
  rope_sines,
  // Indices locate data in memory. A case cannot override them, and they end at an inaccessible OS page.
  row_sums,
  key_counts,
  block_table,
  page_sums,
  page_list,
  prefix_offsets,
  slots,
  positions,
};

constexpr bool is_index(tensor_content content) {
  return content >= tensor_content::row_sums;
}

struct planned_tensor {
  std::string name;
  dtype type = dtype::none;
  std::vector<std::int64_t> shape;
  /// Memory order of the dimensions, outermost first; empty: row major.
  std::vector<int> order = {};  // NOLINT(readability-redundant-member-init): may be left out
  tensor_content content = tensor_content::unwritten;
  tensor_role role = tensor_role::input;
  bool is_pool = false;        ///< the first axis is the page
  bool is_optional = false;    ///< may be absent; kernels must accept that
  bool has_free_rows = false;  ///< the problem does not say how many rows it has
  std::int64_t gap = 0;        ///< gap elements between its rows: see buffer_backing::gap
};

/// Bytes of a tensor, gaps included, or nothing where they do not fit int64.
std::optional<std::int64_t> checked_bytes(const planned_tensor& t);

}  // namespace assay
