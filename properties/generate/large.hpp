/// Large and cheap cases: far beyond the usual extents in one of them, and small in all others, so that a run still
/// takes well below a second. They are where a narrow index or a fixed array ends.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "properties/generate/walker.hpp"

namespace assay {

/// What is large. Each one but `none` has extents that no other one has, so that a case tells its own.
enum class large_kind : std::int64_t {
  none,
  context,    ///< one row with up to 100,000 keys, and tables as wide as that with small pages
  sequences,  ///< up to 300 tiny or empty sequences
  rows,       ///< 300 to 2,000 rows with few heads
  heads,      ///< up to 64 kv heads, or up to 128 query heads in one group, or several groups of up to 64
};

/// Bounds of all other cases, and where the large ones begin.
inline constexpr std::int64_t usual_sequences = 8;
inline constexpr std::int64_t usual_keys = 8200;
inline constexpr std::int64_t usual_query_heads = 32;
inline constexpr std::int64_t usual_kv_heads = 8;

inline constexpr std::int64_t most_keys_of_all = 100'000;
inline constexpr std::int64_t most_sequences_of_all = 300;
/// More sequences than a grid has blocks in its second dimension, and than 16 bits count. Nearly all of them are empty.
inline constexpr std::int64_t least_crowd = 65'530;
inline constexpr std::int64_t most_crowd = 65'600;
inline constexpr std::int64_t most_rows_of_all = 2000;
inline constexpr std::int64_t most_heads_of_all = 128;
inline constexpr std::int64_t most_heads_of_several = 640;  ///< query heads of several kv heads

/// Most multiply-adds of a large case: about those of the dearest usual cases. Where a block has a row of its 16, they
/// cost it as much as 16 rows do: many sequences and heads have fewer.
inline constexpr std::int64_t large_cost = 16'000'000;
inline constexpr std::int64_t small_cost = 4'000'000;

/// Ways in which cases are large by turn (turns.hpp): a multiple of the number of kinds that each kernel has.
inline constexpr std::int32_t large_ways = 4;

/// What is large in a case of a kernel whose usual cases have up to so many rows.
large_kind large_kind_of(const attention_case& c, std::int64_t usual_rows);

/// Chooses one of the kinds that a kernel has; a few percent of cases are large.
large_kind choose_large(space_walker& w, std::initializer_list<large_kind> kinds, std::int64_t usual_rows);

/// heads_kv and heads_q of a large case of attention.
void large_heads(space_walker& w, large_kind kind);

/// Head dims of a large case, in units of `step` from 64.
void large_head_dims(space_walker& w, std::int32_t step);

/// Rows and keys of a large case's sequences; in batch mode only of `sequences`. `usual_rows` as above.
void large_lengths(space_walker& w, large_kind kind, std::int64_t usual_rows);

/// Numbers of keys of a large context of so many keys at most.
options large_contexts(std::int64_t most);

/// page_size of a large context, also of thousands of keys.
void large_page_size(space_walker& w);

/// Whether it is this large context's turn to have pages of more than 2048 keys.
bool is_turn_of_large_pages(const space_walker& w, large_kind kind);

/// Whether pages of thousands of keys cost little.
bool has_cheap_pages(const space_walker& w, large_kind kind);

}  // namespace assay
