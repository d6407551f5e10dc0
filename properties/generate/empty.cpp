#include "properties/generate/empty.hpp"

#include <algorithm>

#include "properties/generate/large.hpp"

namespace assay {
namespace {

/// Where no key is live the pool has no page. Offsets and windows belong to keys.
void take_keys(attention_case& c) {
  for (sequence& s : c.sequences) {
    s.k = 0;
    s.pages.clear();
  }
  c.pool_pages = 0;
  c.window = 0;
}

void plain_offsets(attention_case& c) {
  for (sequence& s : c.sequences)
    if (s.prefix_offset) s.prefix_offset = 0;
}

}  // namespace

empty_kind fill_in(attention_case& c) {
  if (c.sequences.empty()) {
    c.sequences.push_back({.q = 1, .k = 0, .prefix_offset = {}, .pages = {}});
    c.pool_pages = std::max<std::int64_t>(c.pool_pages, 1);
    return empty_kind::sequences;
  }
  if (std::ranges::all_of(c.sequences, [](const sequence& s) { return s.q == 0; })) {
    c.sequences.back().q = 1;
    if (c.batching == q_batching::batch)
      for (sequence& s : c.sequences) s.q = 1;
    return empty_kind::rows;
  }
  if (c.pool_pages > 0) return empty_kind::none;
  c.pool_pages = 1;
  return empty_kind::keys;
}

void choose_empty(space_walker& w, empty_kind now) {
  attention_case& c = w.c;
  constexpr std::int64_t rows_of_no_large_case = 40;
  if (!w.limits.empty_cases || large_kind_of(c, rows_of_no_large_case) != large_kind::none) return;
  const std::int32_t turn = w.limits.empty_turn;
  const auto kind = static_cast<empty_kind>(
      turn >= 0 ? 1 + turn % 3 : w.pick(options(0, 3).add(60, 0).add(3, 1, 3), static_cast<std::int64_t>(now)));
  if (kind == empty_kind::none) return;
  plain_offsets(c);
  if (kind != empty_kind::rows) take_keys(c);
  if (kind == empty_kind::sequences) c.sequences.clear();
  if (kind == empty_kind::rows)
    for (sequence& s : c.sequences) s.q = 0;
}

}  // namespace assay
