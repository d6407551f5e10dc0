#include <algorithm>
#include <cmath>

#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = space_walker::tile_keys;
constexpr std::int64_t block_rows = 64;
constexpr std::int64_t usual_rows = 130;  // just beyond two blocks

void types(space_walker& w) {
  attention_case& c = w.c;
  static constexpr dtype in[] = {dtype::e4m3fn, dtype::e4m3fnuz, dtype::bf16, dtype::f16};
  static constexpr dtype out[] = {dtype::f16, dtype::bf16};
  if (w.limits.vary_arithmetic) {
    // Four of five are FP8: descales per page need many cases.
    const auto now = std::ranges::find(in, c.q_type) - std::begin(in);
    c.q_type = in[w.pick(options(0, 3).add(5, 0).add(3, 1).add(2, 2, 3), now)];
    if (is_fp8(c.q_type))
      w.set_one_of<dtype>(c.o_type, out, 4);
    else
      c.o_type = c.q_type;
  } else {
    c.q_type = in[0];
    c.o_type = out[0];
  }
  c.kv_type = c.q_type;
}

void head_dims(space_walker& w) {
  const options dims = options(4, 8).add(6, 4).add(4, 8).add(2, 4, 8);
  w.head_dim(w.c.head_dim_qk, 16, dims);
  const std::int64_t same = w.c.head_dim_qk / 16;
  w.head_dim(w.c.head_dim_v, 16, options(4, 8).add(2, 4).add(6, same).add(2, 4, 8));
}

/// Pages of per-page descales hold whole tiles; with an odd number of them the page boundaries fall on all slots of a
/// ring.
void page_size(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  if (c.kv_descale == descale_kind::per_page) {
    std::int64_t tiles = c.page_size / tile_keys;
    const std::int64_t most = has_cheap_pages(w, large) ? 64 : 16;
    options counts(1, most);
    if (is_turn_of_large_pages(w, large))
      counts = options(33, 64).add(1, 64).add(1, 33, 64);
    else if (large == large_kind::context)
      counts.add(2, 1).add(2, 2, 3).add(2, 4, 16).add(3, 32).add(12, 64);
    else
      counts.add(6, 1).add(4, 2).add(4, 3).add(2, 4, 8).add(3, 16).add(1, 32).add(1, 64);
    w.set(tiles, counts);
    c.page_size = static_cast<std::int32_t>(tiles * tile_keys);
    return;
  }
  if (large == large_kind::context) return large_page_size(w);
  static constexpr std::int32_t sizes[] = {16, 1, 64, 1024, 2048, 4096};
  const std::span usual = std::span(sizes).first(has_cheap_pages(w, large) ? 6 : 4);
  const auto is_usual = std::ranges::find(usual, c.page_size) != usual.end();
  if (w.flag(!is_usual, 6, 1))
    w.set(c.page_size, options(1, 1024).add(1, 2, 33).add(1, 2, 200));
  else
    w.set_one_of<std::int32_t>(c.page_size, usual, 2);
}

options row_options(std::int64_t least, std::int64_t most) {
  options o(least, most);
  o.add(5, 1).add(1, 0).add(3, 2, 5).around(3, 16).around(4, block_rows).around(2, 2 * block_rows);
  return o.add(2, 6, 62).add(1, 66, most);
}

/// One to five tiles: fewer than a ring has slots, as many, and more.
options key_options(std::int64_t page, std::int64_t most) {
  options o(0, most);
  o.add(2, 0).add(2, 1).add(2, 2, 62);
  for (const std::int64_t tiles : {1, 2, 3, 4, 5}) o.around(4, tiles * tile_keys);
  o.add(3, 2 * tile_keys + 1, 3 * tile_keys);
  for (const std::int64_t pages : {1, 2, 3, 4, 5, 8}) o.around(2, pages * page);
  o.around(2, most / tile_keys * tile_keys).around(2, most / page * page).add(3, most).add(6, 0, most);
  return o;
}

/// What a case's cost goes into. A source that writes down needs only the first: the cost it has written allows for the
/// lengths as they are.
enum length_style : std::int64_t {
  any,   ///< rows come first, which mostly leaves keys for a tile
  deep,  ///< few rows, so that there are tiles for the pipeline's steady state
  wide,  ///< several blocks of rows, each of which visits several tiles, whatever it costs
};

void lengths(space_walker& w) {
  attention_case& c = w.c;
  w.sequence_count(options(1, w.limits.max_sequences).add(8, 1).add(4, 2).add(3, 3, 8));
  std::int64_t share = w.cost_share(static_cast<std::int64_t>(c.sequences.size()));
  static constexpr q_batching batchings[] = {q_batching::group, q_batching::batch};
  w.set_one_of<q_batching>(c.batching, batchings, 8);
  const length_style widest = w.limits.dear_cases ? wide : deep;
  const std::int64_t style =
      w.limits.vary_arithmetic ? w.pick(options(any, widest).add(4, any).add(6, deep).add(2, wide), any) : any;
  if (style == wide) share = w.dearest_share(static_cast<std::int64_t>(c.sequences.size()));
  const std::int64_t rows_of_four_tiles = std::max<std::int64_t>(1, w.most_keys(share, 1) / (4 * tile_keys));
  const std::int64_t most_rows =
      style == deep ? std::min<std::int64_t>(rows_of_four_tiles, w.limits.max_q) : w.limits.max_q;
  const bool all_alike = c.batching == q_batching::batch;
  bool any_row = false;
  for (sequence& s : c.sequences) {
    const bool is_first = &s == &c.sequences.front();
    const std::int64_t least = all_alike || (!any_row && &s == &c.sequences.back()) ? 1 : 0;
    if (is_first || !all_alike)
      w.set(s.q, style == wide ? options(least, most_rows).add(1, std::min(block_rows + 2, most_rows), most_rows)
                               : row_options(least, most_rows));
    else
      s.q = c.sequences.front().q;
    any_row = any_row || s.q > 0;
    const std::int64_t most_keys = w.most_keys(share, s.q);
    w.set(s.k, key_options(c.page_size, style == wide ? std::min(most_keys, 5 * tile_keys) : most_keys));
  }
}

/// Logits have a standard deviation of 1 to 4 on normal data mostly: the softmax is neither flat nor a maximum.
void arithmetic(space_walker& w) {
  attention_case& c = w.c;
  const float root = 1.0F / std::sqrt(static_cast<float>(c.head_dim_qk));
  const float extreme = space_walker::extreme_scale;
  const float scales[] = {root, 2.0F * root, 4.0F * root, 1.7F * root, 0.5F * root, 1.0F, extreme * root, -root, 0.0F};
  w.set_one_of<float>(c.scale, distinct(scales), 5);
  w.logit_descales();
  w.v_descale(c.v_scale, c.kv_type);
  w.soft_cap();
}

void descale_ratio(space_walker& w) {
  float& ratio = w.c.data.descale_ratio;
  if (!w.limits.vary_data || w.c.kv_descale == descale_kind::per_tensor) {
    ratio = 1.0F;
    return;
  }
  static constexpr float ratios[] = {1.1F,  1.0F,   1.02F,   1.3F,   2.0F,   5.0F,
                                     10.0F, 100.0F, 1000.0F, 1.001F, 1.005F, 1.015F};
  // A kernel that takes near descales for equal ones shows it by a rounding of few elements: near ones are frequent.
  const auto now = std::ranges::find(ratios, ratio) - std::begin(ratios);
  ratio = ratios[w.pick(options(0, std::ssize(ratios) - 1).add(1, 0).add(4, 1, 11).add(2, 9, 10), now)];
}

void walk(space_walker& w) {
  attention_case& c = w.c;
  using enum large_kind;
  const large_kind large = choose_large(w, {context, sequences, rows, heads}, usual_rows);
  types(w);
  if (w.limits.vary_arithmetic) {
    large == none ? w.heads() : large_heads(w, large);
    large == none ? head_dims(w) : large_head_dims(w, 16);
  }
  if (w.limits.vary_memory) {
    // Weights of large cases are such that favour_rare() leaves them alone: it would make these descales rarer.
    const std::int32_t unit = large == none ? 1 : 8;
    const bool per_page = is_fp8(c.kv_type) && w.flag(c.kv_descale == descale_kind::per_page, 2 * unit, 10 * unit);
    c.kv_descale = per_page ? descale_kind::per_page : descale_kind::per_tensor;
    page_size(w, large);
  }
  if (large == none) {
    lengths(w);
  } else {
    c.batching =
        large == sequences && w.flag(c.batching == q_batching::batch, 1, 1) ? q_batching::batch : q_batching::group;
    large_lengths(w, large, usual_rows);
  }
  // Of many rows often: a row's number then meets the mask.
  c.causal = large == rows ? w.flag(c.causal, 8, 24) : w.flag(c.causal, 1, 1);
  w.prefix_offsets();
  if (w.limits.vary_arithmetic) arithmetic(w);
  w.pages(3, 8);
  w.set(c.num_splits, options(0, 1).add(2, 1).add(1, 0));
  w.data();
  descale_ratio(w);
  w.schedule();
  w.row_margin();
  w.input_margin();
  w.far_dimension();
  w.specials();
  w.long_tail();
  static constexpr descale_size sizes[] = {descale_size::near_1, descale_size::least, descale_size::tiny};
  // Pages at which a row ends are not tiny: with a causal mask few would be left.
  const auto has_pages = [](const sequence& s) { return s.pages.size() > 1; };
  const bool may_be_tiny = !c.causal && std::ranges::any_of(c.sequences, has_pages);
  w.descale_sizes(std::span(sizes).first(c.causal ? 2 : 3), may_be_tiny ? 2 : 16);
  w.even_weights();
}

constexpr type_choice types_of_kernel[] = {
    {dtype::e4m3fn, dtype::e4m3fn, dtype::f16},     {dtype::e4m3fn, dtype::e4m3fn, dtype::bf16},
    {dtype::e4m3fnuz, dtype::e4m3fnuz, dtype::f16}, {dtype::e4m3fnuz, dtype::e4m3fnuz, dtype::bf16},
    {dtype::bf16, dtype::bf16, dtype::bf16},        {dtype::f16, dtype::f16, dtype::f16},
};

constexpr const char* reached =
    "two_tiles three_tiles several_sequences several_rows row_blocks rows_without_keys "
    "several_kv_heads grouped_heads unequal_dims causal hidden_keys no_mask prefix_offset soft_cap "
    "scales page_descales fp8 block_table page_list layout_nhd layout_hnd q_heads_outermost "
    "q_transposed batch group page_of_one long_pages shared_pages row_margin input_margin "
    "no_sequences no_rows no_pages live_nan wave_32 wave_64 other_schedules "
    "padding_rows";

}  // namespace

const kernel_space batch_prefill_space{.name = "batch_prefill",
                                       .types = types_of_kernel,
                                       .head_dim_step = 16,
                                       .per_page_keys = 64,
                                       .capabilities = has_page_descales,
                                       .has_window = false,
                                       .reaches = reached,
                                       .walk = walk};

}  // namespace assay
