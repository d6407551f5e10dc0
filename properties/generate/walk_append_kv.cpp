#include <algorithm>
#include <cmath>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/walker.hpp"

namespace assay {
namespace {

void types(space_walker& w) {
  attention_case& c = w.c;
  static constexpr dtype new_types[] = {dtype::f16, dtype::bf16};
  w.set_one_of<dtype>(c.q_type, new_types, 4);
  const dtype pool_types[] = {c.q_type, dtype::e4m3fn, dtype::e4m3fnuz};
  w.set_one_of<dtype>(c.kv_type, pool_types, 4);
  c.o_type = c.q_type;
}

constexpr std::int64_t usual_rows = 1100;

void heads_and_dims(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  if (large == large_kind::heads)
    w.set(c.heads_kv, options(usual_kv_heads + 1, 64).add(2, 16).add(2, 32).add(2, 64).add(3, 9, 64));
  else
    w.set(c.heads_kv,
          options(1, large == large_kind::none ? std::min(w.limits.max_heads, 8) : 2).add(6, 1).add(4, 2).add(2, 3, 8));
  c.heads_q = c.heads_kv;
  if (large != large_kind::none) return large_head_dims(w, 8);
  const options dims = options(8, 32).add(8, 8).add(6, 16).add(2, 32).add(5, 9, 31);
  w.head_dim(c.head_dim_qk, 8, dims);
  const std::int64_t same = c.head_dim_qk / 8;
  w.head_dim(c.head_dim_v, 8, options(8, 32).add(3, 8).add(10, same).add(3, 8, 32));
}

/// Scales of the whole tensor undo the amplitude of quantised values; pages have descales of their own in their place.
void scales(space_walker& w, large_kind large) {
  attention_case& c = w.c;
  const bool is_quantised = size_bytes(c.kv_type) == 1;
  const bool per_page = w.flag(c.kv_descale == descale_kind::per_page, 1, is_quantised ? 2 : 0);
  c.kv_descale = per_page && is_quantised ? descale_kind::per_page : descale_kind::per_tensor;
  if (c.kv_descale == descale_kind::per_page || !is_quantised) {
    c.k_scale = c.v_scale = 1.0F;
  } else {
    w.descale(c.k_scale, c.kv_type);
    w.descale(c.v_scale, c.kv_type);
  }
  static constexpr float ratios[] = {1.0F, 2.0F, 1.017F, 10.0F, 300.0F, 1.001F, 1.005F};
  if (c.kv_descale == descale_kind::per_page)
    w.set_one_of<float>(c.data.descale_ratio, ratios, 2);
  else
    c.data.descale_ratio = 1.0F;
  // Of a large context the positions are large, too.
  const std::int32_t none = large == large_kind::context ? 10 : 6, any = large == large_kind::context ? 30 : 4;
  w.set(c.rotary, options(0, 2).add(none, 0).add(any, 1, 2));
}

void page_size(space_walker& w, large_kind large) {
  if (large == large_kind::context) return large_page_size(w);
  static constexpr std::int32_t sizes[] = {16, 1, 64, 128, 2, 256, 4096};
  const std::span usual = std::span(sizes).first(has_cheap_pages(w, large) ? 7 : 6);
  const auto is_usual = std::ranges::find(usual, w.c.page_size) != usual.end();
  if (w.flag(!is_usual, 7, 1))
    w.set(w.c.page_size, options(1, 2100).add(4, 2, 33).add(4, 2, 200).add(1, 1025, 2100));  // two tiles of slots
  else
    w.set_one_of<std::int32_t>(w.c.page_size, usual, 2);
}

/// Rows, and the keys that the sequence has with them: mostly its last rows are the new keys. Rows before the first key
/// and behind the last one are skipped.
void usual_lengths(space_walker& w) {
  attention_case& c = w.c;
  const std::int64_t few = std::min(w.limits.max_q, 66), page = c.page_size;
  // Rarely more rows than blocks have threads, where they are small.
  const bool takes_many = w.limits.max_q > few && c.heads_kv * std::int64_t{c.head_dim_qk} <= 512;
  w.sequence_count(options(1, std::min(w.limits.max_sequences, 6)).add(6, 1).add(5, 2).add(4, 3, 6));
  const std::int64_t share = w.cost_share(static_cast<std::int64_t>(c.sequences.size()));
  bool any_row = false;
  for (sequence& s : c.sequences) {
    const std::int64_t least = !any_row && &s == &c.sequences.back() ? 1 : 0;
    options row_counts(least, takes_many ? usual_rows : few);
    row_counts.add(16, 1).add(2, 0).add(10, 2, 5).around(6, 16).around(4, std::min(page, few)).add(8, 6, few);
    w.set(s.q, row_counts.add(1, 257, usual_rows));
    any_row = any_row || s.q > 0;
    const std::int64_t most = std::min<std::int64_t>(w.most_keys(share, s.q), 700);
    options keys(0, most);
    keys.add(3, s.q).add(2, s.q + 1, s.q + 8).add(2, 0, s.q).around(3, s.q + page).around(2, page).add(6, 0, most);
    w.set(s.k, keys);
  }
}

void offsets(space_walker& w) {
  attention_case& c = w.c;
  const bool offset = w.flag(c.sequences.front().prefix_offset.has_value(), 5, 1);
  for (sequence& s : c.sequences) {
    const std::int64_t k = s.k, q = s.q;
    if (!offset) {
      s.prefix_offset.reset();
      continue;
    }
    const options from = options(-q - 1, k + 1).add(2, 0).add(4, 0, k).around(2, k - q).add(1, -q - 1, k + 1);
    s.prefix_offset = static_cast<std::int32_t>(w.pick(from, s.prefix_offset.value_or(0)));
  }
}

constexpr std::int64_t far_slot = std::int64_t{1} << 32;

void move_pages(attention_case& c, std::int64_t by) {
  c.pool_pages += by;
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages) page += by;
}

/// By so many, the case's first two pages come to lie below slot 2^32, and the others behind it.
std::int64_t pages_to_far_slots(const attention_case& c) {
  return far_slot / c.page_size - 2;
}

bool has_far_slots(const attention_case& c) {
  return std::ranges::all_of(c.sequences, [by = pages_to_far_slots(c), &c](const sequence& s) {
    return c.pool_pages > by && std::ranges::all_of(s.pages, [by](std::int64_t page) { return page >= by; });
  });
}

/// Whether there is room for such a pool, also if a property adds pages, and numbers of 31 bits for its pages.
bool fits_far_slots(attention_case c) {
  constexpr std::int64_t pages_to_add = 64;
  move_pages(c, pages_to_far_slots(c));
  c.pool_pages += pages_to_add;
  if (c.pool_pages >= std::int64_t{1} << 31 || pages_in_use(c).size() + pages_to_add > sparse_pages_max) return false;
  const std::vector<planned_tensor> planned = plan_tensors(c);
  return std::ranges::all_of(planned, [](const planned_tensor& t) {
    return !t.is_pool || checked_bytes(t).value_or(written_pool_bytes_max + 1) <= written_pool_bytes_max;
  });
}

/// Last of all, since it depends on what a slot costs.
void far_slots(space_walker& w, bool was_far) {
  if (!w.limits.high_pages || !w.limits.vary_memory || !fits_far_slots(w.c)) return;
  if (w.flag(was_far, 5, 1)) move_pages(w.c, pages_to_far_slots(w.c));
}

/// Resets the fields that append_kv does not read.
void fix(attention_case& c) {
  c.causal = false;
  c.window = 0;
  c.scale = c.q_scale = 1.0F;
  c.soft_cap = 0.0F;
  c.bias_type = dtype::none;
  c.bias_shared = bias_sharing::none;
  c.sinks = false;
  c.k_order = key_order::plain;
  c.split_contexts = context_split::fixed;
  c.max_model_len = 0;
  c.fills_hidden = false;
  c.num_splits = 0;
  c.workspace_budget_bytes = 0;
  c.row_margin = 0;
  c.batching = q_batching::group;
}

void walk(space_walker& w) {
  attention_case& c = w.c;
  using enum large_kind;
  fix(c);
  const large_kind large = choose_large(w, {context, sequences, heads, rows}, usual_rows);
  if (w.limits.vary_arithmetic) {
    types(w);
    heads_and_dims(w, large);
    scales(w, large);
  } else {
    c.heads_q = c.heads_kv;
  }
  if (w.limits.vary_memory) page_size(w, large);
  large == none ? usual_lengths(w) : large_lengths(w, large, usual_rows);
  offsets(w);
  const bool was_far = has_far_slots(c);
  if (was_far) move_pages(c, -pages_to_far_slots(c));
  w.pages(0, 0);
  c.page_table = page_table_kind::block_table;
  c.spare_table_entries = 0;
  if (c.q_order == q_layout::transposed) c.q_order = q_layout::heads;
  w.data();
  w.schedule();
  w.input_margin();
  w.far_dimension();
  far_slots(w, was_far);
  w.specials();
  static constexpr descale_size sizes[] = {descale_size::near_1, descale_size::near_new_rows};
  w.descale_sizes(sizes);
}

constexpr type_choice types_of_kernel[] = {
    {dtype::f16, dtype::f16, dtype::f16},      {dtype::f16, dtype::e4m3fn, dtype::f16},
    {dtype::f16, dtype::e4m3fnuz, dtype::f16}, {dtype::bf16, dtype::bf16, dtype::bf16},
    {dtype::bf16, dtype::e4m3fn, dtype::bf16}, {dtype::bf16, dtype::e4m3fnuz, dtype::bf16},
};

constexpr const char* reached =
    "several_sequences several_rows several_kv_heads unequal_dims scales page_descales fp8 "
    "layout_nhd layout_hnd page_of_one rotary_half rotary_interleaved input_margin "
    "no_sequences no_rows no_pages live_nan live_infinity wave_32 wave_64 other_schedules";

}  // namespace

const kernel_space append_kv_space{.name = "append_kv",
                                   .types = types_of_kernel,
                                   .head_dim_step = 8,
                                   .per_page_keys = 1,
                                   .capabilities = 0,
                                   .has_window = false,
                                   .reaches = reached,
                                   .walk = walk};

}  // namespace assay
