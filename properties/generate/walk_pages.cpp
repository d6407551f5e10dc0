// Where the pages of a case lie.
#include <algorithm>
#include <set>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

/// How page ids are drawn. A source that writes down needs only the first three: what the others draw is one of them.
enum page_style : std::int64_t {
  ascending,  ///< 0, 1, 2, ...
  different,  ///< no page twice
  any,        ///< shared with other sequences, repeated, consecutive
  runs,       ///< as in the probes of CK issue 6054: consecutive from an even or odd page, with gaps, repeated
};

page_style style_of(const attention_case& c) {
  std::set<std::int64_t> seen;
  std::int64_t next = 0;
  bool is_ascending = true;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages) {
      if (!seen.insert(page).second) return any;
      is_ascending = is_ascending && page == next++;
    }
  return is_ascending ? ascending : different;
}

void number_pages(attention_case& c) {
  std::int64_t next = 0;
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages) page = next++;
}

/// Draws without replacement; the swaps are the same for a source that writes down.
void permute_pages(space_walker& w) {
  std::vector<std::int64_t> unused(static_cast<std::size_t>(w.c.pool_pages));
  for (std::size_t i = 0; i < unused.size(); ++i) unused[i] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> place_of = unused;
  for (sequence& s : w.c.sequences)
    for (std::int64_t& page : s.pages) {
      const auto last = static_cast<std::int64_t>(unused.size()) - 1;
      const bool known = page >= 0 && page < w.c.pool_pages;
      const std::int64_t at =
          w.pick(options(0, last).add(1, 0, last), known ? place_of[static_cast<std::size_t>(page)] : 0);
      page = unused[static_cast<std::size_t>(at)];
      unused[static_cast<std::size_t>(at)] = unused.back();
      place_of[static_cast<std::size_t>(unused.back())] = at;
      unused.pop_back();
    }
}

void draw_any(space_walker& w) {
  const sequence* previous = nullptr;
  for (sequence& s : w.c.sequences) {
    for (std::size_t i = 0; i < s.pages.size(); ++i) {
      options from(0, w.c.pool_pages - 1);
      from.add(3, 0, w.c.pool_pages - 1);
      if (i > 0) from.add(2, s.pages[i - 1] + 1).add(1, s.pages[i - 1]);
      if (previous != nullptr && i < previous->pages.size()) from.add(5, previous->pages[i]);  // a common prefix
      w.set(s.pages[i], from);
    }
    previous = &s;
  }
}

void draw_runs(space_walker& w) {
  const std::int64_t last = w.c.pool_pages - 1;
  for (sequence& s : w.c.sequences)
    for (std::size_t i = 0; i < s.pages.size(); ++i) {
      options from(0, last);
      if (i == 0) {
        from.add(1, 0, last);
      } else {
        const std::int64_t before = s.pages[i - 1];
        from.add(1, 0, last).add(6, before + 1).add(3, before).add(3, before + 2).add(2, before - 1);
      }
      w.set(s.pages[i], from);
    }
}

/// Shifts that bring some page to a byte offset of 2^31, 2^32 or 2^35 and the pages before it below that, so that a
/// sequence's run may cross it. The largest number of pages below the boundary comes first.
constexpr std::int64_t most_below = 8;
std::int64_t shift_of(const attention_case& c, std::int64_t boundary, std::int64_t below) {
  constexpr std::int64_t bytes[] = {0, std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 35};
  const std::int64_t page_bytes =
      std::max<std::int64_t>(1, std::int64_t{c.page_size} * c.heads_kv * c.head_dim_qk * size_bytes(c.kv_type));
  return std::max<std::int64_t>(0, bytes[boundary] / page_bytes - below);
}

struct high_choice {
  std::int64_t boundary = 0;
  std::int64_t below = 0;
};

/// The choice that explains the ids of a given case; none where they are low. `most`: pages of an unshifted pool.
high_choice read_off(const attention_case& c, std::int64_t most) {
  std::int64_t least_id = c.pool_pages;
  for (const sequence& s : c.sequences)
    for (const std::int64_t page : s.pages) least_id = std::min(least_id, page);
  if (c.pool_pages <= most) return {};
  for (std::int64_t boundary = 1; boundary <= 3; ++boundary)
    for (std::int64_t below = most_below; below >= 0; --below) {
      const std::int64_t shift = shift_of(c, boundary, below);
      if (shift > 0 && shift <= least_id && c.pool_pages - shift <= most && c.pool_pages > shift)
        return {boundary, below};
    }
  return {};
}

void move_pages(attention_case& c, std::int64_t by) {
  c.pool_pages += by;
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages) page += by;
}

void layouts(space_walker& w) {
  static constexpr pool_layout pools[] = {pool_layout::nhd, pool_layout::hnd};
  w.set_one_of<pool_layout>(w.c.layout, pools, 5);
  // Gaps as large as the tensors: not for pools of so many pages that they must not be sparse.
  const auto used = static_cast<std::int64_t>(pages_in_use(w.c).size());
  constexpr std::int64_t pages_to_add = 16;  // by properties
  static constexpr tensor_packing packings[] = {tensor_packing::separate, tensor_packing::packed};
  if (used + pages_to_add <= sparse_pages_max)
    w.set_one_of<tensor_packing>(w.c.packing, packings, 20);
  else
    w.c.packing = tensor_packing::separate;
  if ((describe(w.c).capabilities & has_values) != 0)
    w.c.v_has_other_layout = w.flag(w.c.v_has_other_layout, 7, 1);
  else
    w.c.v_has_other_layout = false;
  static constexpr q_layout orders[] = {q_layout::rows, q_layout::heads, q_layout::transposed};
  w.set_one_of<q_layout>(w.c.q_order, orders, 5);
  static constexpr page_table_kind tables[] = {page_table_kind::block_table, page_table_kind::page_list};
  w.set_one_of<page_table_kind>(w.c.page_table, tables, 5);
  // Sometimes, of large contexts often, rows of a table are further apart than 2^15 entries.
  const bool can_be_wide = w.limits.large_cases && w.c.sequences.size() <= 4;
  options spare(0, can_be_wide ? 33'000 : 9);
  const bool is_context = w.longest() > usual_keys;
  w.set(w.c.spare_table_entries, spare.add(20, 0).add(40, 1, 9).add(is_context ? 40 : 1, 32'760, 33'000));
}

}  // namespace

void space_walker::pages(std::int32_t weight_of_shared, std::int32_t weight_of_runs) {
  std::int64_t needed = 0;
  for (sequence& s : c.sequences) {
    s.pages.resize(static_cast<std::size_t>(pages_for(s.k, c.page_size)));
    needed += static_cast<std::int64_t>(s.pages.size());
  }
  const std::int64_t spare = std::clamp<std::int64_t>(512 / c.page_size, 1, 9);  // large pages cost time to poison
  const std::int64_t most = std::max<std::int64_t>(1, needed) + (limits.vary_memory ? spare : 0);
  high_choice high;
  // A sparse pool takes a bounded number of pages, of which properties may add some.
  constexpr std::int64_t pages_to_add = 16;
  if (limits.high_pages && limits.vary_memory && needed + pages_to_add <= sparse_pages_max) {
    high = read_off(c, most);
    high.boundary = pick(options(0, 3).add(12, 0).add(3, 1, 3), high.boundary);
    if (high.boundary > 0) high.below = pick(options(0, most_below).add(1, 0, most_below), high.below);
    const std::int64_t shift_now = high.boundary > 0 ? shift_of(c, high.boundary, high.below) : 0;
    move_pages(c, -shift_now);
  }
  const page_style style =
      limits.vary_memory
          ? static_cast<page_style>(
                pick(options(0, 3).add(1, 0).add(4, 1).add(weight_of_shared, 2).add(weight_of_runs, 3), style_of(c)))
          : ascending;
  const std::int64_t least = std::max<std::int64_t>(1, style >= any ? 1 : needed);
  set(c.pool_pages,
      options(least, limits.vary_memory ? most : least).add(2, std::max<std::int64_t>(1, needed)).add(4, least, most));
  switch (style) {
    case ascending: number_pages(c); break;
    case different: permute_pages(*this); break;
    case any: draw_any(*this); break;
    case runs: draw_runs(*this); break;
  }
  if (high.boundary > 0) move_pages(c, shift_of(c, high.boundary, high.below));
  if (limits.vary_memory) layouts(*this);
}

}  // namespace assay
