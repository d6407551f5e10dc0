/// A planned tensor, as an operation describes it; it has no memory yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/tensor.hpp"

namespace assay {

struct attention_case;
struct sequence;

/// What a kernel does with a tensor.
enum class tensor_role { input, output, in_out };

/// What fills a tensor (data/fill.cpp has a function for each). `unwritten`: nothing, it is an output.
enum class tensor_content {
  unwritten,
  queries,
  rows_of_any_size,  ///< as queries, but also small ones and zeros
  keys,
  values,
  weights,
  key_scales,
  k_descales,
  v_descales,
  bias,
  sinks,
  computed,  ///< planned_tensor::element
  // Indices locate data in memory. A case cannot override them, and they end at an inaccessible OS page.
  row_sums,
  key_counts,
  block_table,
  page_sums,
  page_list,
  prefix_offsets,
  row_indices,  ///< planned_tensor::row_index
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
  bool is_pool = false;          ///< the first axis is the page
  bool is_optional = false;      ///< may be absent; kernels must accept that
  bool has_free_rows = false;    ///< the problem does not say how many rows it has
  bool has_any_strides = false;  ///< problem.hpp leaves all strides to the caller; else the last one is 1
  std::int64_t gap = 0;          ///< gap elements between its rows: see buffer_backing::gap
  /// Gap elements after each index of the outermost dimension, in addition to `gap`.
  std::int64_t outer_gap = 0;
  bool is_far = false;  ///< only the elements of the outermost dimension's indices have memory, not what is between
  int shared_dimension = -1;  ///< all indices of it are the same elements: its stride is 0
  int margins = 1;            ///< of the case, in its gap: tensors with other numbers have other strides
  int draw = 0;               ///< of `queries` and `rows_of_any_size`: other draws are other rows of the same kind
  /// Of `computed`, a matrix: the rows that calls read; the others are dead.
  std::vector<std::int64_t> (*live_rows)(const attention_case& c) = nullptr;
  /// Of `computed`: what the elements of a column have in common, and the bits of one of them.
  double (*of_column)(std::int64_t column, std::int64_t columns) = nullptr;
  std::uint32_t (*element)(std::int64_t row, double of_column) = nullptr;
  /// Of `row_indices`: the index of a row of a sequence, which is row `batch_row` of the batch; nothing where it is
  /// dead.
  std::optional<std::int64_t> (*row_index)(const attention_case& c, const sequence& s, std::int64_t row,
                                           std::int64_t batch_row) = nullptr;
};

/// Bytes of a tensor, gaps included, or nothing where they do not fit int64.
std::optional<std::int64_t> checked_bytes(const planned_tensor& t);

}  // namespace assay
