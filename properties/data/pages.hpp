/// The pool's pages: which are used, which tensors hold them, and how they move.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// The tensors whose first axis is the page, where a problem has them.
inline constexpr const char* pool_tensors[] = {"k", "v", "k_descale", "v_descale", "k_row_scale"};

/// Physical pages that the page tables name for keys, ascending, each once.
std::vector<std::int64_t> pages_in_use(const inputs& in);

/// Bytes from one page of a pool tensor to the next.
std::int64_t page_bytes(const buffer& b);

/// Pages [from, from + count) become [to, to + count).
struct page_move {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count = 1;
};

/// Moves pages in all pool tensors, into pools of `num_pages` pages that are sparse where tensor_plan makes them so.
/// Does not copy pages that `moves` does not name. The rest of the new pool is unwritten. Targets must differ. The
/// caller must update the page tables.
void repage(inputs& in, std::int64_t num_pages, const std::vector<page_move>& moves);

}  // namespace assay
