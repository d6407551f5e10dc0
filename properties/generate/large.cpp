#include "properties/generate/large.hpp"

#include <algorithm>
#include <vector>

#include "properties/case/operation.hpp"

namespace assay {
namespace {

std::int64_t keys_for(const attention_case& c, std::int64_t cost, std::int64_t rows) {
  return cost / (std::max<std::int64_t>(rows, 1) * describe(c).pair_cost(c));
}

/// One long row, sometimes beside a short sequence.
void context_lengths(space_walker& w) {
  attention_case& c = w.c;
  w.sequence_count(options(1, 2).add(5, 1).add(1, 2));
  for (sequence& s : c.sequences) {
    const bool is_long = &s == &c.sequences.front();
    w.set(s.q, options(is_long ? 1 : 0, 2).add(30, 1).add(5, 0, 2));
    if (is_long)
      w.set(s.k, large_contexts(keys_for(c, large_cost, s.q)));
    else
      w.set(s.k, options(0, 200).add(1, 0).add(3, 1, 200));
  }
}

/// Tiny and empty ones, on both sides of a tile; some with no row.
void sequence_lengths(space_walker& w) {
  attention_case& c = w.c;
  const bool all_alike = c.batching == q_batching::batch;
  w.sequence_count(options(usual_sequences + 1, most_crowd)
                       .add(4, 9, 40)
                       .around(2, 32)
                       .around(2, 64)
                       .around(1, 128)
                       .around(2, 256)
                       .add(3, 41, most_sequences_of_all)
                       .add(10, 257, most_sequences_of_all)
                       .add(all_alike || c.heads_kv > 1 ? 0 : 2, least_crowd, most_crowd));
  const bool is_crowd = static_cast<std::int64_t>(c.sequences.size()) >= least_crowd;
  const std::int64_t most = keys_for(c, small_cost / static_cast<std::int64_t>(c.sequences.size()), 1);
  bool any_row = false;
  for (sequence& s : c.sequences) {
    const bool is_last = &s == &c.sequences.back();
    const std::int64_t least = all_alike || (!any_row && is_last) ? 1 : 0;
    // Of a crowd a few hundred have a row, and the last one mostly has: it is the one past the limits.
    if (all_alike && any_row)
      s.q = c.sequences.front().q;
    else if (is_crowd && !is_last)
      w.set(s.q, options(least, 2).add(200, 0).add(1, 1));
    else
      w.set(s.q, options(least, 2).add(10, 1).add(2, 0).add(1, 2));
    any_row = any_row || s.q > 0;
    if (is_crowd)
      w.set(s.k, options(0, 9).add(s.q > 0 ? 1 : 200, 0).add(s.q > 0 ? 10 : 1, 1, 9));
    else
      w.set(s.k, options(0, std::min<std::int64_t>(most, 200)).add(3, 0).add(6, 1, 9).add(2, 10, 70).add(1, 0, 200));
  }
}

/// A prefill of many rows on few keys or as many, sometimes beside a short sequence.
void row_lengths(space_walker& w, std::int64_t usual_rows) {
  attention_case& c = w.c;
  w.sequence_count(options(1, 2).add(4, 1).add(1, 2));
  for (sequence& s : c.sequences) {
    const bool is_long = &s == &c.sequences.front();
    if (is_long)
      w.set(s.q, options(usual_rows + 1, most_rows_of_all)
                     .add(4, 300, 600)
                     .around(2, 512)
                     .around(2, 1024)
                     .add(3, 300, 2000)
                     .add(9, 1025, 1600));
    else
      w.set(s.q, options(0, usual_rows).add(1, 1).add(1, 0, 5));
    const std::int64_t most =
        std::min<std::int64_t>(keys_for(c, is_long ? large_cost : small_cost, s.q), is_long ? usual_keys : 200);
    w.set(s.k,
          options(0, most).add(1, 0).add(2, 1, 64).add(4, std::min<std::int64_t>(s.q, most)).add(4, most / 2, most));
  }
}

void head_lengths(space_walker& w) {
  attention_case& c = w.c;
  w.sequence_count(options(1, 2).add(4, 1).add(1, 2));
  for (sequence& s : c.sequences) {
    w.set(s.q, options(1, 3).add(6, 1).add(1, 2, 3));
    const std::int64_t most = std::min<std::int64_t>(keys_for(c, small_cost, s.q), usual_keys);
    w.set(s.k, options(0, most).add(1, 0).add(6, 1, 70).add(4, 65, 200));
  }
}

/// Whether a kernel that multiplies with the rounded 1 / group, in place of a division, finds the wrong kv head.
bool has_short_inverse(std::int64_t group) {
  const auto size = static_cast<float>(group);
  return size * (1.0F / size) < 1.0F;
}

/// Query heads of one of several kv heads, so that there are more than usual of one or the other.
options groups_of_several(std::int64_t heads_kv) {
  constexpr std::int64_t most_group = 64;
  const std::int64_t least = heads_kv > usual_kv_heads ? 1 : usual_query_heads / heads_kv + 1;
  const std::int64_t most = std::min(most_group, most_heads_of_several / heads_kv);
  options o(least, most);
  o.add(4, 1).add(1, 6).add(1, 9).add(1, 12).add(3, 1, 14).add(4, least, most);
  for (std::int64_t group = least; group <= most; ++group)
    if (has_short_inverse(group)) o.add(8, group);
  return o;
}

/// What a kind leaves to luck goes by turns as well: every second time that a way is taken.
bool is_every_second(const space_walker& w) {
  return w.limits.large_turn >= 0 && w.limits.large_turn / large_ways % 2 == 1;
}

}  // namespace

large_kind large_kind_of(const attention_case& c, std::int64_t usual_rows) {
  if (static_cast<std::int64_t>(c.sequences.size()) > usual_sequences) return large_kind::sequences;
  for (const sequence& s : c.sequences) {
    if (s.k > usual_keys) return large_kind::context;
    if (s.q > usual_rows) return large_kind::rows;
  }
  if (c.max_model_len > usual_keys) return large_kind::context;
  return c.heads_q > usual_query_heads || c.heads_kv > usual_kv_heads ? large_kind::heads : large_kind::none;
}

large_kind choose_large(space_walker& w, std::initializer_list<large_kind> kinds, std::int64_t usual_rows) {
  if (!w.limits.large_cases) return large_kind::none;
  if (w.limits.large_turn >= 0) {
    w.favour_rare();
    return kinds.begin()[static_cast<std::size_t>(w.limits.large_turn) % kinds.size()];
  }
  std::vector<large_kind> known{large_kind::none};
  known.insert(known.end(), kinds.begin(), kinds.end());
  const auto now = std::ranges::find(known, large_kind_of(w.c, usual_rows));
  const auto last = static_cast<std::int64_t>(kinds.size());
  const options from = options(0, last).add(97, 0).add(3, 1, last);
  const std::int64_t at = w.pick(from, now == known.end() ? 0 : now - known.begin());
  if (at > 0) w.favour_rare();
  return known[static_cast<std::size_t>(at)];
}

void large_heads(space_walker& w, large_kind kind) {
  attention_case& c = w.c;
  std::int64_t group = c.heads_q / c.heads_kv;
  if (kind != large_kind::heads) {
    // Weights that favour_rare() leaves alone: what is large already has little room for more heads.
    w.set(c.heads_kv, options(1, 2).add(30, 1).add(5, 2));
    group = w.pick(options(1, 2).add(30, 1).add(5, 2), group);
    c.heads_q = static_cast<std::int32_t>(c.heads_kv * group);
    return;
  }
  // One kv head with more query heads than usual, or a few with so many together, or more kv heads than usual.
  const std::int64_t least = is_every_second(w) ? usual_kv_heads + 1 : 1;
  w.set(c.heads_kv, options(least, 64)
                        .add(5, 1)
                        .add(1, 16)
                        .add(1, 32)
                        .add(3, 64)
                        .add(2, usual_kv_heads + 1, 64)
                        .add(6, usual_kv_heads + 1, 12)
                        .add(4, 2, 3)
                        .add(2, 4, usual_kv_heads));
  if (c.heads_kv == 1)
    group = w.pick(options(usual_query_heads + 1, most_heads_of_all)
                       .add(3, 71)
                       .add(2, 64)
                       .add(2, 128)
                       .add(2, usual_query_heads + 1, most_heads_of_all),
                   group);
  else
    group = w.pick(groups_of_several(c.heads_kv), group);
  c.heads_q = static_cast<std::int32_t>(c.heads_kv * group);
}

void large_head_dims(space_walker& w, std::int32_t step) {
  for (std::int32_t* dim : {&w.c.head_dim_qk, &w.c.head_dim_v})
    w.head_dim(*dim, step, options(64 / step, 128 / step).add(30, 64 / step).add(5, 64 / step, 128 / step));
}

void large_lengths(space_walker& w, large_kind kind, std::int64_t usual_rows) {
  switch (kind) {
    case large_kind::none: return;
    case large_kind::context: return context_lengths(w);
    case large_kind::sequences: return sequence_lengths(w);
    case large_kind::rows: return row_lengths(w, usual_rows);
    case large_kind::heads: return head_lengths(w);
  }
}

options large_contexts(std::int64_t most) {
  constexpr std::int64_t two_to_16 = 65536;
  constexpr std::int64_t least = 9000;  // of two rows, four heads and head dims of 128 they cost 18 million
  options o(usual_keys + 1, std::clamp(most, least, most_keys_of_all));
  o.add(3, usual_keys + 1, 20'000).around(1, two_to_16 / 2).add(1, two_to_16 / 2 + 1, two_to_16 / 2 + 300);
  return o.around(1, two_to_16).add(12, two_to_16 + 1, two_to_16 + 300).add(2, two_to_16, most_keys_of_all);
}

void large_page_size(space_walker& w) {
  if (is_turn_of_large_pages(w, large_kind::context))
    return w.set(w.c.page_size, options(2049, 4096).add(3, 4096).add(1, 2049, 4096));
  options sizes(1, has_cheap_pages(w, large_kind::context) ? 4096 : 1024);
  w.set(w.c.page_size, sizes.add(4, 16).add(4, 1).add(3, 64).add(2, 2, 1024).add(3, 2048).add(12, 4096));
}

bool is_turn_of_large_pages(const space_walker& w, large_kind kind) {
  return kind == large_kind::context && is_every_second(w);
}

bool has_cheap_pages(const space_walker& w, large_kind kind) {
  constexpr std::int64_t cheap_row = 256;  // elements of K and V: a page of 4096 keys has a million of them
  const attention_case& c = w.c;
  const bool has_few = kind != large_kind::sequences;
  return has_few && w.limits.large_cases && std::int64_t{c.heads_kv} * (c.head_dim_qk + c.head_dim_v) <= cheap_row;
}

}  // namespace assay
