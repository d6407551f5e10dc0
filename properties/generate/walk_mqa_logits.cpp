#include <algorithm>

#include "properties/case/tensor_plan.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

// As in aiter 2866: the kernel processes contexts in chunks of two stages.
constexpr std::int64_t stage_keys = 128;
constexpr std::int64_t chunk_keys = 256;
constexpr std::int64_t most_next_n = 4;

/// Fields that the operation does not have, or has in one way only.
void fix(attention_case& c) {
  c.heads_kv = 1;
  c.batching = q_batching::batch;
  c.o_type = dtype::f32;
  c.head_dim_v = 64;
  c.scale = c.q_scale = c.k_scale = c.v_scale = 1;
  for (sequence& s : c.sequences) s.prefix_offset.reset();
}

void arithmetic(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  static constexpr dtype types[] = {dtype::e4m3fn, dtype::e4m3fnuz};
  w.set_one_of<dtype>(c.q_type, types, 5);
  c.kv_type = c.q_type;
  // Those of models, and a few, for which contexts of several chunks cost little.
  static constexpr std::int32_t usual[] = {1, 32, 64, 2, 4}, few[] = {1, 2, 4};
  if (large != large_kind::none) {
    w.set_one_of<std::int32_t>(c.heads_q, few, 8);
    w.head_dim(c.head_dim_qk, 32, options(2, 4).add(30, 2).add(5, 3, 4));
    return;
  }
  const auto is_usual = std::ranges::find(usual, c.heads_q) != std::end(usual);
  if (w.flag(!is_usual, 9, 1))
    w.set(c.heads_q, options(1, 64).add(1, 3, 63));
  else
    w.set_one_of<std::int32_t>(c.heads_q, usual, 1);
  w.head_dim(c.head_dim_qk, 32, options(2, 4).add(5, 4).add(2, 2).add(1, 3));
}

void memory(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  static constexpr key_order orders[] = {key_order::plain, key_order::preshuffled};
  const bool has_plain_order = is_turn_of_large_pages(w, large);  // preshuffled pages are small
  w.set_one_of<key_order>(c.k_order, std::span(orders).first(has_plain_order ? 1 : 2), 4);
  if (c.k_order == key_order::preshuffled) {
    static constexpr std::int32_t usual[] = {16, 64, 32, 48, 128};
    w.set_one_of<std::int32_t>(c.page_size, usual, 2);
    return;
  }
  if (large == large_kind::context) return large_page_size(w);
  static constexpr std::int32_t sizes[] = {16, 1, 64, 2048, 4096};
  const std::span usual = std::span(sizes).first(has_cheap_pages(w, large) ? 5 : 3);
  const auto is_usual = std::ranges::find(usual, c.page_size) != usual.end();
  if (w.flag(!is_usual, 6, 1))
    w.set(c.page_size, options(1, 300).add(2, 2, 33).add(1, 34, 300));
  else
    w.set_one_of<std::int32_t>(c.page_size, usual, 2);
}

/// Numbers of keys where something ends: a page, a stage, a chunk.
options around_ends(std::int64_t page, std::int64_t least, std::int64_t most) {
  options o(least, most);
  o.add(4, 1, 130);
  for (const std::int64_t stages : {1, 2, 3, 4, 5, 8}) o.around(3, stages * stage_keys);
  for (const std::int64_t chunks : {3, 5, 7}) o.around(2, chunks * chunk_keys);
  for (const std::int64_t pages : {1, 2, 3, 9}) o.around(2, pages * page);
  return o.around(2, most / chunk_keys * chunk_keys).around(2, most / page * page).add(4, least, most);
}

/// Rows' lengths first, then contexts within them: often none, one key, all but one, or exactly full.
void lengths(space_walker& w) {
  attention_case& c = w.c;
  w.sequence_count(options(1, std::min(w.limits.max_sequences, 5)).add(8, 1).add(4, 2).add(3, 3, 5));
  std::int32_t& next_n = c.sequences.front().q;
  w.set(next_n, options(1, std::min<std::int64_t>(w.limits.max_q, most_next_n)).add(4, 1).add(5, 2).add(4, 3, 4));
  for (sequence& s : c.sequences) s.q = next_n;
  const std::int64_t share = w.cost_share(static_cast<std::int64_t>(c.sequences.size()));
  const std::int64_t most = std::max<std::int64_t>(w.most_keys(share, next_n), 1);
  w.set(c.max_model_len, around_ends(c.page_size, 1, most));
  for (sequence& s : c.sequences) {
    const std::int64_t full = c.max_model_len;
    options o = around_ends(c.page_size, 0, full);
    // The last: whole chunks, and hidden columns behind them.
    w.set(s.k, o.add(20, full).add(8, full - 1).add(6, 0).add(4, 1, next_n).add(6, full / chunk_keys * chunk_keys));
  }
}

/// As lengths(): one long row of logits, or many short ones.
void large_batches(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  const bool is_long = large == large_kind::context;
  w.sequence_count(is_long ? options(1, 2).add(5, 1).add(1, 2)
                           : options(usual_sequences + 1, most_sequences_of_all)
                                 .add(4, 9, 40)
                                 .around(2, 64)
                                 .around(2, 256)
                                 .add(3, 41, most_sequences_of_all)
                                 .add(8, 257, most_sequences_of_all));
  const auto sequences = static_cast<std::int64_t>(c.sequences.size());
  std::int32_t& next_n = c.sequences.front().q;
  w.set(next_n, options(1, 2).add(30, 1).add(5, 2));
  for (sequence& s : c.sequences) s.q = next_n;
  const std::int64_t cost = std::int64_t{next_n} * c.heads_q * c.head_dim_qk * sequences;
  if (is_long)
    w.set(c.max_model_len, large_contexts(large_cost / cost));
  else
    w.set(c.max_model_len, options(1, std::min<std::int64_t>(300, small_cost / cost)).add(4, 1, 130).add(1, 1, 300));
  for (sequence& s : c.sequences) {
    const std::int64_t full = c.max_model_len;
    const bool is_first = &s == &c.sequences.front();
    const std::int64_t least = is_first && is_turn_of_large_pages(w, large) ? full / 2 : 0;
    options o(least, is_long && !is_first ? 200 : full);
    w.set(s.k, o.add(6, full).add(2, full - 1).add(2, 0).add(2, 1, 130).add(2, least, full));
  }
}

void walk(space_walker& w) {
  attention_case& c = w.c;
  using enum large_kind;
  fix(c);
  const large_kind large = choose_large(w, {context, sequences}, most_next_n);
  if (w.limits.vary_arithmetic) {
    arithmetic(w, large);
  } else {
    c.q_type = c.kv_type = dtype::e4m3fn;
  }
  if (w.limits.vary_memory) memory(w, large);
  large == none ? lengths(w) : large_batches(w, large);
  c.fills_hidden = w.flag(c.fills_hidden, 1, 1);
  static constexpr context_split kinds[] = {context_split::fixed, context_split::variable};
  w.set_one_of<context_split>(c.split_contexts, kinds, 4);
  const std::int64_t most_blocks = large == sequences ? 640 : 2560;  // of rows and splits
  const std::int64_t rows_of_batch = static_cast<std::int64_t>(c.sequences.size()) * c.sequences.front().q;
  w.set(c.num_splits,
        options(0, std::clamp<std::int64_t>(most_blocks / rows_of_batch, 1, std::min(w.limits.max_splits, 128)))
            .add(4, 1)
            .add(2, 0)
            .add(6, 2, 4)
            .add(4, 5, 16)
            .around(1, pages_for(w.longest(), chunk_keys))
            .around(3, pages_for(w.longest(), stage_keys))  // variable parts of a stage: every other starts in a chunk
            .add(1, 17, 128));
  if (w.limits.vary_memory) w.set(c.row_margin, options(0, 256).add(6, 0).add(3, 1, 16).add(1, 128).add(1, 17, 256));
  w.pages(3, 2);
  c.layout = pool_layout::nhd;
  w.data();
  w.schedule();
  w.input_margin();
  w.far_dimension();
  w.specials();
}

constexpr type_choice types_of_kernel[] = {
    {dtype::e4m3fn, dtype::e4m3fn, dtype::f32},
    {dtype::e4m3fnuz, dtype::e4m3fnuz, dtype::f32},
};

constexpr const char* reached =
    "two_tiles several_sequences several_rows rows_without_keys grouped_heads fp8 "
    "block_table page_list fills_hidden keeps_hidden preshuffled variable_contexts "
    "row_margin input_margin no_sequences no_rows no_pages live_nan wave_32 wave_64 "
    "other_schedules";

}  // namespace

const kernel_space mqa_logits_space{.name = "mqa_logits",
                                    .types = types_of_kernel,
                                    .head_dim_step = 32,
                                    .per_page_keys = 0,
                                    .capabilities = 0,
                                    .has_window = false,
                                    .reaches = reached,
                                    .walk = walk};

}  // namespace assay
