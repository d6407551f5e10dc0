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
/// have between them.
std::vector<planned_tensor> plan_tensors(const attention_case& c);

/// All outputs and workspaces of a planned problem (num_splits >= 1), as its operation describes them; in-out tensors
/// are among the inputs. `row_margin` elements lie between their rows.
std::vector<planned_tensor> plan_outputs(const problem& planned, std::int64_t row_margin);

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
