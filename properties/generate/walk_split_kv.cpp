#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = space_walker::tile_keys;
constexpr std::int64_t usual_rows = 40;  // decoding, and a little more

void types(space_walker& w) {
  attention_case& c = w.c;
  static constexpr dtype q_types[] = {dtype::f16, dtype::bf16, dtype::i8};
  w.set_one_of<dtype>(c.q_type, q_types, 4);
  if (c.q_type == dtype::i8) {
    c.kv_type = dtype::i8;
    c.o_type = dtype::f16;
    return;
  }
  const dtype kv_types[] = {c.q_type, dtype::e4m3fn, dtype::e4m3fnuz};
  w.set_one_of<dtype>(c.kv_type, kv_types, 6);
  c.o_type = c.q_type;
}

void head_dims(space_walker& w) {
  const options dims = options(8, 32).add(10, 8).add(8, 16).add(2, 32).add(5, 8, 32);
  w.head_dim(w.c.head_dim_qk, 8, dims);
  const std::int64_t same = w.c.head_dim_qk / 8;
  w.head_dim(w.c.head_dim_v, 8, options(8, 32).add(3, 8).add(10, same).add(3, 8, 32));
}

void page_size(space_walker& w, large_kind large) {
  if (large == large_kind::context) return large_page_size(w);
  static constexpr std::int32_t sizes[] = {16, 1, 64, 128, 256, 1024, 2048, 4096};
  const std::span usual = std::span(sizes).first(has_cheap_pages(w, large) ? 8 : 6);
  const auto is_usual = std::ranges::find(usual, w.c.page_size) != usual.end();
  if (w.flag(!is_usual, 7, 1))
    w.set(w.c.page_size, options(1, 1024).add(1, 2, 33).add(1, 2, 200));
  else
    w.set_one_of<std::int32_t>(w.c.page_size, usual, 2);
}

options key_options(std::int64_t page, std::int64_t most) {
  options o(0, most);
  o.add(1, 0).add(2, 1).add(4, 2, 9).add(6, 10, 200).around(3, tile_keys).around(2, 2 * tile_keys).around(3, page);
  for (const std::int64_t pages : {2, 3, 8}) o.around(1, pages * page);
  // Where a combine kernel's arrays or lanes may end: that many splits are only not empty with as many tiles.
  for (const std::int64_t tiles : {33, 65, 128}) o.around(3, tiles * tile_keys);
  o.around(2, most / tile_keys * tile_keys).around(1, most / page * page).add(2, most).add(6, 0, most);
  return o;
}

/// How the lengths of a batch go together. A source that writes down needs only the first.
enum batch_style : std::int64_t {
  any,
  deep,     ///< every sequence has several tiles, as far as its share of the cost goes
  decode,   ///< one row each
  one_long  ///< the first sequence has several tiles, all others a few keys, which are no whole tile
};

options deep_keys(std::int64_t most) {
  options o(0, most);
  o.add(2, tile_keys + 1, 3 * tile_keys).add(6, 3 * tile_keys + 1, 6 * tile_keys).around(2, 3 * tile_keys);
  return o.around(2, 5 * tile_keys).around(2, most / tile_keys * tile_keys).add(4, std::min(tile_keys + 1, most), most);
}

/// A whole number of tiles, or a key more or less.
void set_keys_around_tiles(space_walker& w, sequence& s, std::int64_t most) {
  const std::int64_t most_tiles = std::max<std::int64_t>(1, most / tile_keys);
  const std::int64_t tiles = w.pick(options(1, most_tiles).add(1, 1, most_tiles), 1);
  const std::int64_t keys = tiles * tile_keys + w.pick(options(-1, 1).add(1, 0).add(1, -1, 1), 0);
  s.k = static_cast<std::int32_t>(std::clamp<std::int64_t>(keys, 0, most));
}

void set_keys(space_walker& w, sequence& s, std::int64_t most, batch_style style) {
  constexpr std::int64_t few = 63;
  const bool is_first = &s == &w.c.sequences.front();
  if (style == deep && w.flag(false, 3, 1)) return set_keys_around_tiles(w, s, most);
  if (style == one_long && !is_first)
    w.set(s.k, options(0, std::min(few, most)).add(1, 0).add(3, 1, few));
  else
    w.set(s.k, style == deep || style == one_long ? deep_keys(most) : key_options(w.c.page_size, most));
}

void lengths(space_walker& w) {
  attention_case& c = w.c;
  const std::int64_t most_q = std::min<std::int64_t>(w.limits.max_q, usual_rows);
  w.sequence_count(options(1, std::min(w.limits.max_sequences, 5)).add(6, 1).add(4, 2).add(3, 3, 5));
  std::int64_t share = w.cost_share(static_cast<std::int64_t>(c.sequences.size()));
  const auto style = static_cast<batch_style>(
      w.limits.vary_arithmetic
          ? w.pick(options(any, one_long).add(5, any).add(11, deep).add(2, decode).add(2, one_long), any)
          : any);
  // Whatever it costs, but in the cheapest cases: a few tiles of one row.
  if (style == deep && w.limits.dear_cases && w.limits.cost_class > 0)
    share = std::max(share, std::min(w.dearest_share(static_cast<std::int64_t>(c.sequences.size())),
                                     4 * tile_keys * describe(c).pair_cost(c)));
  bool any_row = false;
  for (sequence& s : c.sequences) {
    // A case needs at least one query row; the last sequence ensures it.
    const std::int64_t least = !any_row && &s == &c.sequences.back() ? 1 : 0;
    // Rows that leave room for tiles.
    const std::int64_t most =
        style == deep ? std::clamp<std::int64_t>(w.most_keys(share, 1) / (3 * tile_keys), 1, most_q) : most_q;
    options rows(least, style == decode ? 1 : most);
    w.set(s.q, rows.add(12, 1).add(1, 0).add(4, 2, 5).around(1, 16).add(3, 6, 40));
    any_row = any_row || s.q > 0;
    set_keys(w, s, w.most_keys(share, s.q), style);
  }
}

void masks(space_walker& w) {
  const std::int64_t longest = w.longest();
  w.c.causal = w.flag(w.c.causal, 1, 1);
  w.set(w.c.window, options(0, std::max<std::int64_t>(w.limits.max_k, longest) + 1)
                        .add(10, 0)
                        .add(2, 1, 4)
                        .around(1, tile_keys)
                        .around(1, 2 * tile_keys)
                        .add(longest > 200 ? 4 : 0, 200, std::min<std::int64_t>(4000, longest))
                        .add(2, 1, longest + 1));
  w.prefix_offsets();
}

void arithmetic(space_walker& w) {
  attention_case& c = w.c;
  const float root = 1.0F / std::sqrt(static_cast<float>(c.head_dim_qk));
  std::vector<float> scales{root, 1.0F, 0.0625F, 0.5F * root, 1.7F * root, 0.125F, -root, 0.0F, -0.125F};
  if (size_bytes(c.kv_type) == 1) scales.push_back(root * space_walker::extreme_scale);
  w.set_one_of<float>(c.scale, distinct(scales), 8);
  w.logit_descales();
  w.v_descale(c.v_scale, v_type(c));
  w.soft_cap();
  static constexpr dtype bias_types[] = {dtype::none, dtype::f32, dtype::f16, dtype::bf16};
  w.set_one_of<dtype>(c.bias_type, bias_types, 12);
  static constexpr bias_sharing shared[] = {bias_sharing::none, bias_sharing::heads, bias_sharing::rows};
  if (c.bias_type != dtype::none)
    w.set_one_of<bias_sharing>(c.bias_shared, shared, 8);
  else
    c.bias_shared = bias_sharing::none;
  static constexpr bias_kind kinds[] = {bias_kind::normal, bias_kind::holes, bias_kind::left_padded, bias_kind::lowest,
                                        bias_kind::steep};
  if (c.bias_type != dtype::none)
    w.set_one_of<bias_kind>(c.data.bias, kinds, 6);
  else
    c.data.bias = bias_kind::normal;
  c.sinks = w.flag(c.sinks, 4, 1);
  static constexpr sink_kind sinks[] = {sink_kind::normal, sink_kind::large, sink_kind::huge};
  if (c.sinks)
    w.set_one_of<sink_kind>(c.data.sinks, sinks, 8);
  else
    c.data.sinks = sink_kind::normal;
}

/// Most splits of a case: each writes a partial output, all of which the combine loads. An element of it costs more
/// than a multiply-add of a matrix atom: 2^21 of them take about a second where accesses are checked.
std::int64_t most_splits(const space_walker& w) {
  const attention_case& c = w.c;
  std::int64_t rows = 0;
  for (const sequence& s : c.sequences) rows += s.q;
  const std::int64_t most_elements = std::int64_t{1} << (w.limits.cost_class < 3 ? 18 : 21);
  // A block without keys costs as much as some thousand elements.
  const bool has_many_blocks = std::ssize(c.sequences) > usual_sequences || c.heads_kv > usual_kv_heads;
  const std::int64_t most_blocks = has_many_blocks ? 640 : 2560;
  const std::int64_t blocks = static_cast<std::int64_t>(c.sequences.size()) * c.heads_kv;
  return std::clamp<std::int64_t>(std::min(most_elements / (rows * c.heads_q * c.head_dim_v), most_blocks / blocks), 1,
                                  w.limits.max_splits);
}

void splits(space_walker& w) {
  const std::int64_t tiles = pages_for(w.longest(), tile_keys);
  w.set(w.c.num_splits, options(0, most_splits(w))
                            .add(tiles > 1 ? 8 : 26, 1)
                            .add(2, 0)
                            .add(3, 2, 8)
                            .add(tiles > 3   ? 14
                                 : tiles > 1 ? 4
                                             : 0,
                                 2, std::max<std::int64_t>(2, tiles / 2))
                            .around(tiles > 1 ? 2 : 1, tiles)
                            .add(tiles > 32 ? 20 : 0, tiles, tiles + 1)
                            .add(1, 9, 16)
                            .add(1, 2, 128)
                            .add(1, 128));
}

/// Batch mode: all sequences have as many rows as one of them had, or fewer where none is to cost more than before.
/// Comes last, and brings back what its rows change to where a source that writes down finds it.
void batch_mode(space_walker& w, bool is_batch) {
  attention_case& c = w.c;
  if (!w.flag(is_batch, 12, 1)) return;
  c.batching = q_batching::batch;
  std::int64_t dearest = 0, most = 1;
  for (const sequence& s : c.sequences) {
    dearest = std::max(dearest, std::max<std::int64_t>(s.q, 1) * s.k);
    most = std::max<std::int64_t>(most, s.q);
  }
  const auto rows = static_cast<std::int32_t>(w.longest() == 0 ? most : std::min(most, dearest / w.longest()));
  for (sequence& s : c.sequences) {
    s.q = rows;
    const std::int64_t p = s.prefix_offset.value_or(0), farthest = std::int64_t{s.k} + rows + 66;
    if (s.prefix_offset && std::abs(p) != std::numeric_limits<std::int32_t>::max())
      s.prefix_offset = static_cast<std::int32_t>(std::clamp<std::int64_t>(p, -rows - 1, farthest));
  }
  c.num_splits = static_cast<std::int32_t>(std::min<std::int64_t>(c.num_splits, most_splits(w)));
}

void walk(space_walker& w) {
  using enum large_kind;
  const bool is_batch = std::exchange(w.c.batching, q_batching::group) == q_batching::batch;
  const large_kind large = choose_large(w, {context, sequences, rows, heads}, usual_rows);
  if (w.limits.vary_arithmetic) {
    types(w);
    large == none ? w.heads() : large_heads(w, large);
    large == none ? head_dims(w) : large_head_dims(w, 8);
  }
  if (w.limits.vary_memory) page_size(w, large);
  large == none ? lengths(w) : large_lengths(w, large, usual_rows);
  masks(w);
  if (w.limits.vary_arithmetic) arithmetic(w);
  w.pages(3, 0);
  splits(w);
  w.data();
  w.schedule();
  w.row_margin();
  w.input_margin();
  w.far_dimension();
  w.specials();
  if (large == none && w.limits.vary_memory) batch_mode(w, is_batch);
  w.long_tail();
  w.even_weights();
}

constexpr type_choice types_of_kernel[] = {
    {dtype::f16, dtype::f16, dtype::f16},      {dtype::f16, dtype::e4m3fn, dtype::f16},
    {dtype::f16, dtype::e4m3fnuz, dtype::f16}, {dtype::bf16, dtype::bf16, dtype::bf16},
    {dtype::bf16, dtype::e4m3fn, dtype::bf16}, {dtype::bf16, dtype::e4m3fnuz, dtype::bf16},
    {dtype::i8, dtype::i8, dtype::f16},
};

constexpr const char* reached =
    "two_tiles three_tiles filled_splits empty_splits several_sequences several_rows "
    "rows_without_keys several_kv_heads grouped_heads unequal_dims causal hidden_keys no_mask window "
    "prefix_offset soft_cap bias sinks scales fp8 block_table page_list layout_nhd "
    "layout_hnd q_heads_outermost q_transposed page_of_one long_pages shared_pages "
    "row_margin input_margin no_sequences no_rows no_pages live_nan live_infinity wave_32 "
    "wave_64 other_schedules batch group padding_rows";

}  // namespace

const kernel_space split_kv_space{.name = "split_kv",
                                  .types = types_of_kernel,
                                  .head_dim_step = 8,
                                  .per_page_keys = 0,
                                  .capabilities = has_splits,
                                  .has_window = true,
                                  .reaches = reached,
                                  .walk = walk};

}  // namespace assay
