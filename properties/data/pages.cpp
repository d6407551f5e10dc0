#include "properties/data/pages.hpp"

#include <algorithm>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/edit.hpp"

namespace assay {
namespace {

/// Dimensions of a pool tensor from the outermost in memory to the innermost; the page is outermost.
std::vector<int> pool_order(const tensor& t) {
  if (t.rank != 4) return {};
  return t.stride[1] >= t.stride[2] ? std::vector{0, 1, 2, 3} : std::vector{0, 2, 1, 3};
}

/// What `moves` says of the pages that the buffer has memory for: of two pools one may be sparse, the other dense.
std::vector<page_move> within(const std::vector<page_move>& moves, const std::vector<index_range>& used) {
  std::vector<page_move> own;
  for (const page_move& m : moves)
    for (const index_range& run : used) {
      const std::int64_t begin = std::max(m.from, run.begin), end = std::min(m.from + m.count, run.end);
      if (begin < end) own.push_back({begin, m.to + (begin - m.from), end - begin});
    }
  return own;
}

buffer repaged(const buffer& b, std::int64_t num_pages, const std::vector<page_move>& all_moves) {
  const std::vector<page_move> moves = within(all_moves, b.used());
  const tensor& from = b.view();
  std::vector<std::int64_t> shape{from.shape, from.shape + from.rank};
  shape[0] = num_pages;
  planned_tensor planned{b.name(), from.type, shape, pool_order(from)};
  planned.is_pool = true;
  planned.gap = b.backing().gap;
  planned.outer_gap = b.backing().outer_gap;
  buffer_backing backing = b.backing();
  backing.used.reset();
  if (is_sparse(planned)) {
    std::vector<index_range> used;
    used.reserve(moves.size());
    for (const page_move& m : moves) used.push_back({m.to, m.to + m.count});
    backing.used = joined(std::move(used));
  }
  buffer to(b.name(), from.type, shape, planned.order, std::move(backing));
  tensor page = from;
  page.shape[0] = 1;
  const std::int64_t bytes = page_bytes(b), last_bytes = extent(page) * size_bytes(from.type);
  for (const page_move& m : moves) {
    const std::int64_t moved = (m.count - 1) * bytes + last_bytes;
    std::ranges::copy(b.bytes({m.from * bytes, m.from * bytes + moved}),
                      to.bytes({m.to * bytes, m.to * bytes + moved}).begin());
  }
  return to;
}

}  // namespace

std::vector<std::int64_t> pages_in_use(const inputs& in) {
  std::vector<std::int64_t> pages;
  for (std::int64_t s = 0; s < in.stated.num_seqs; ++s)
    for (std::int64_t ordinal = 0; ordinal * in.stated.page_size < keys_of(in, s); ++ordinal)
      pages.push_back(page_entry(in, s, ordinal));
  std::ranges::sort(pages);
  const auto repeated = std::ranges::unique(pages);
  pages.erase(repeated.begin(), repeated.end());
  return pages;
}

std::int64_t page_bytes(const buffer& b) {
  return b.view().stride[0] * size_bytes(b.view().type);
}

void repage(inputs& in, std::int64_t num_pages, const std::vector<page_move>& moves) {
  for (const char* name : pool_tensors)
    if (buffer* b = find_buffer(in.buffers, name)) *b = repaged(*b, num_pages, moves);
  in.stated.num_pages = num_pages;
}

}  // namespace assay
