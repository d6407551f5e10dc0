/// The tensors of a case as names, types, shapes and margins: what validate() bounds, fill() and make_outputs() make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/case/planned_tensor.hpp"
#include "properties/system/guarded_memory.hpp"

namespace assay {

/// All inputs and in-out tensors of a case, as its operation describes them. The fields must have passed the range
/// checks of validate(); the sizes of the tensors need not be bounded yet. `input_margin` elements lie between the rows
/// of each tensor that has rows. K and V have more, so that their strides stay multiples of 8; preshuffled K has none
/// (problem.hpp). Where the case packs its tensors, rows of Q and pages of K and V are further apart by what the others
/// have between them. `far_dimension` as in output_layout.
std::vector<planned_tensor> plan_tensors(const attention_case& c);

/// Where outputs lie, as a case states it.
struct output_layout {
  std::int64_t row_margin = 0;  ///< gap elements between rows
  /// 0, or a dimension, counted from 1. It is outermost in memory, and the first element of its last index lies
  /// far_bytes or more behind that of its first one: a kernel that computes offsets or strides in 32 bits, in bytes or
  /// in elements, reaches other memory. A tensor of fewer dimensions has its last but one far, so that the last stride
  /// stays 1. Pools (high pages do it for them), lists, and tensors with one index or more than far_indices_max there
  /// stay as they are.
  std::int32_t far_dimension = 0;
};
output_layout layout_of(const attention_case& c);

/// 2^33 elements of 4 bytes, and 2^32 of 8.
constexpr std::int64_t far_bytes = std::int64_t{1} << 35;
/// Each index costs two of the process's mappings, as do the pages of sparse pools: see sparse_pages_max.
constexpr std::int64_t far_indices_max = 256;

/// All outputs and workspaces of a planned problem (num_splits >= 1), as its operation describes them; in-out tensors
/// are among the inputs.
std::vector<planned_tensor> plan_outputs(const problem& planned, const output_layout& layout);

/// Pool tensors of more bytes are sparse: only the OS pages that hold pages in use are accessible; other accesses
/// fault. Up to this size pools are whole and their dead parts are poisoned: a kernel may read dead pages of an
/// allocation.
constexpr std::int64_t dense_pool_bytes_max = std::int64_t{64} << 20;
/// A relation holds up to three copies of K and V, 6 * 2^44 bytes of addresses, and a process has 2^47 of them (under
/// AddressSanitizer, whose shadow takes an eighth, 7 * 2^44).
constexpr std::int64_t sparse_pool_bytes_max = std::int64_t{1} << 44;
/// Of a pool that a kernel writes: the checker has two words of 8 bytes for each of its elements, 2^44 bytes of
/// addresses where elements have one byte.
constexpr std::int64_t written_pool_bytes_max = std::int64_t{1} << 40;
/// Most pages in use by a case with a sparse pool. A page without a neighbour costs two of the process's mappings, in
/// up to three copies of four pool tensors: 2048 * 2 * 3 * 4 = 49,152 of the 65,530 that Linux allows by default
/// (vm.max_map_count).
constexpr std::int64_t sparse_pages_max = 2048;

/// Whether a pool tensor is sparse.
bool is_sparse(const planned_tensor& t);

/// Pages of the pool that the case's sequences use, in ascending order, each once.
std::vector<std::int64_t> pages_in_use(const attention_case& c);

/// Ranges in any order, sorted and joined where they touch.
std::vector<index_range> joined(std::vector<index_range> ranges);

/// ceil(keys / page_size).
inline std::int64_t pages_for(std::int64_t keys, std::int64_t page_size) {
  return (keys + page_size - 1) / page_size;
}

/// Whether query row `row` of a sequence sees key `key`.
bool sees(const attention_case& c, const sequence& s, std::int64_t row, std::int64_t key);

}  // namespace assay
