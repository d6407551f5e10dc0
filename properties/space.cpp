#include "properties/space.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "properties/recipe.hpp"
#include "properties/tensor_plan.hpp"

namespace assay {
namespace {

constexpr std::int64_t tile_keys = 64;
constexpr std::int32_t cost_classes = 6;
constexpr std::int64_t cost_of_class[cost_classes] = {1 << 16, 1 << 18, 1 << 20, 2 << 20, 5 << 20, 20'000'000};

/// Alternatives clipped to a range; those that fall outside are dropped.
class options {
 public:
  options(std::int64_t lo, std::int64_t hi) : lo_(lo), hi_(hi) {}
  options& add(std::int32_t weight, std::int64_t lo, std::int64_t hi) {
    lo = std::max(lo, lo_);
    hi = std::min(hi, hi_);
    if (lo <= hi) list_.push_back({weight, lo, hi});
    return *this;
  }
  options& add(std::int32_t weight, std::int64_t value) { return add(weight, value, value); }
  options& around(std::int32_t weight, std::int64_t value) { return add(weight, value - 1, value + 1); }
  std::span<const alternative> list() const { return list_; }

 private:
  std::int64_t lo_, hi_;
  std::vector<alternative> list_;
};

class walker {
 public:
  walker(attention_case& c, choice_source& source, const space_limits& limits)
      : c_(c), source_(source), limits_(limits) {}

  void walk() {
    // What the case does not say outright is read off it first, for sources that write it down.
    const std::int64_t cost_now = cost_class_of(c_);
    const std::int64_t page_style_now = page_style_of(c_);
    c_.version = 1;
    c_.kernel = "split_kv";
    types();
    heads();
    head_dims();
    lengths(pick(options(0, limits_.cost_class).add(6, 0).add(8, 1).add(8, 2).add(6, 3).add(3, 4).add(1, 5), cost_now));
    masks();
    arithmetic();
    pages(page_style_now);
    splits();
    data();
    schedule();
  }

 private:
  std::int64_t pick(const options& from, std::int64_t current) { return source_.choose(from.list(), current); }

  template <typename T>
  void set(T& field, const options& from) {
    field = static_cast<T>(pick(from, static_cast<std::int64_t>(field)));
  }

  /// One of a list, each as likely; the first is the simplest.
  template <typename T>
  void set_one_of(T& field, std::span<const T> values, std::int32_t first_weight = 1) {
    const auto bits_equal = [&field](const T& v) { return v == field; };
    const auto at = std::ranges::find_if(values, bits_equal) - values.begin();
    const auto last = static_cast<std::int64_t>(values.size()) - 1;
    field = values[static_cast<std::size_t>(
        pick(options(0, last).add(first_weight, 0).add(last > 0 ? 4 : 0, 1, last), at))];
  }

  bool flag(bool current, std::int32_t no_weight, std::int32_t yes_weight) {
    return pick(options(0, 1).add(no_weight, 0).add(yes_weight, 1), current ? 1 : 0) != 0;
  }

  void types() {
    if (!limits_.vary_arithmetic) return;
    static constexpr dtype q_types[] = {dtype::f16, dtype::bf16, dtype::i8};
    set_one_of<dtype>(c_.q_type, q_types, 4);
    if (c_.q_type == dtype::i8) {
      c_.kv_type = dtype::i8;
      c_.o_type = dtype::f16;
      return;
    }
    const dtype kv_types[] = {c_.q_type, dtype::e4m3fn, dtype::e4m3fnuz};
    set_one_of<dtype>(c_.kv_type, kv_types, 6);
    c_.o_type = c_.q_type;
  }

  void heads() {
    if (!limits_.vary_arithmetic) return;
    static constexpr std::int64_t groups[] = {1, 2, 3, 4, 5, 7, 8, 16};
    set(c_.heads_kv, options(1, 8).add(6, 1).add(3, 2).add(1, 3, 8));
    std::int64_t group = c_.heads_q / c_.heads_kv;
    const auto last = std::ranges::upper_bound(groups, limits_.max_heads / c_.heads_kv) - groups;
    set_one_of<std::int64_t>(group, std::span(groups).first(static_cast<std::size_t>(last)), 2);
    c_.heads_q = static_cast<std::int32_t>(c_.heads_kv * group);
  }

  void head_dims() {
    if (!limits_.vary_arithmetic) return;
    const auto in_eights = [this](std::int32_t dim, const options& from) {
      return static_cast<std::int32_t>(8 * pick(from, dim / 8));
    };
    const options dims = options(8, 32).add(10, 8).add(8, 16).add(2, 32).add(5, 8, 32);
    c_.head_dim_qk = in_eights(c_.head_dim_qk, dims);
    const std::int64_t same = c_.head_dim_qk / 8;
    c_.head_dim_v = in_eights(c_.head_dim_v, options(8, 32).add(3, 8).add(10, same).add(3, 8, 32));
  }

  std::int64_t row_cost() const { return std::int64_t{c_.heads_q} * (c_.head_dim_qk + c_.head_dim_v); }

  static std::int64_t cost_class_of(const attention_case& c) {
    // A walk gives every sequence the same share, so the dearest one decides.
    std::int64_t dearest = 0;
    for (const sequence& s : c.sequences)
      dearest = std::max(dearest, std::int64_t{std::max(s.q, 1)} * s.k * c.heads_q * (c.head_dim_qk + c.head_dim_v));
    const std::int64_t needed = dearest * static_cast<std::int64_t>(c.sequences.size());
    std::int64_t least = 0;
    while (least + 1 < cost_classes && cost_of_class[least] < needed) ++least;
    return least;
  }

  void lengths(std::int64_t cost_class) {
    set_page_size();
    const std::int64_t count = pick(options(1, limits_.max_sequences).add(6, 1).add(4, 2).add(3, 3, 5),
                                    static_cast<std::int64_t>(c_.sequences.size()));
    c_.sequences.resize(static_cast<std::size_t>(count));
    const std::int64_t share = cost_of_class[cost_class] / count;
    bool any_row = false;
    for (sequence& s : c_.sequences) {
      // A case without any query row asks for nothing; the last sequence makes sure that there is one.
      const std::int64_t least = !any_row && &s == &c_.sequences.back() ? 1 : 0;
      set(s.q, options(least, limits_.max_q).add(12, 1).add(1, 0).add(4, 2, 5).around(1, 16).add(3, 6, 40));
      any_row = any_row || s.q > 0;
      const std::int64_t most = std::min<std::int64_t>(limits_.max_k, share / (std::max(s.q, 1) * row_cost()));
      set(s.k, key_options(most));
    }
  }

  options key_options(std::int64_t most) const {
    const std::int64_t page = c_.page_size;
    options o(0, most);
    o.add(1, 0).add(2, 1).add(4, 2, 9).add(6, 10, 200).around(3, tile_keys).around(2, 2 * tile_keys).around(3, page);
    for (const std::int64_t pages : {2, 3, 8}) o.around(1, pages * page);
    // Where a combine kernel's arrays or lanes may end: that many splits are only not empty with as many tiles.
    for (const std::int64_t tiles : {33, 65, 128}) o.around(3, tiles * tile_keys);
    o.around(2, most / tile_keys * tile_keys).around(1, most / page * page).add(2, most).add(6, 0, most);
    return o;
  }

  void set_page_size() {
    if (!limits_.vary_memory) return;
    static constexpr std::int32_t usual[] = {16, 1, 64, 128, 256, 1024};
    const auto is_usual = std::ranges::find(usual, c_.page_size) != std::end(usual);
    if (flag(!is_usual, 7, 1))
      set(c_.page_size, options(1, 1024).add(1, 2, 33).add(1, 2, 200));
    else
      set_one_of<std::int32_t>(c_.page_size, usual, 2);
  }

  void masks() {
    c_.causal = flag(c_.causal, 1, 1);
    std::int64_t most_k = 0;
    for (const sequence& s : c_.sequences) most_k = std::max<std::int64_t>(most_k, s.k);
    set(c_.window, options(0, limits_.max_k + 1)
                       .add(10, 0)
                       .add(2, 1, 4)
                       .around(1, tile_keys)
                       .around(1, 2 * tile_keys)
                       .add(2, 1, most_k + 1));
    const bool has_offset = !c_.sequences.empty() && c_.sequences.front().prefix_offset.has_value();
    const bool offset = flag(has_offset, 3, 1);
    for (sequence& s : c_.sequences) {
      const std::int64_t k = s.k, q = s.q;
      constexpr std::int64_t far = 1 << 30;
      s.prefix_offset = offset ? std::optional(static_cast<std::int32_t>(pick(options(-far, far)
                                                                                  .add(2, 0)
                                                                                  .add(4, 0, k)
                                                                                  .around(2, k - q)
                                                                                  .add(2, k, k + q + 66)
                                                                                  .add(2, -q - 1, -1)
                                                                                  .add(1, k / tile_keys * tile_keys - 1)
                                                                                  .add(1, -far)
                                                                                  .add(1, far),
                                                                              s.prefix_offset.value_or(0))))
                               : std::nullopt;
    }
  }

  void arithmetic() {
    if (!limits_.vary_arithmetic) return;
    const float root = 1.0F / std::sqrt(static_cast<float>(c_.head_dim_qk));
    const float scales[] = {root, 1.0F, 0.0625F, 0.5F * root, 1.7F * root, 0.125F};
    set_one_of<float>(c_.scale, distinct(scales), 8);
    set_descale(c_.q_scale, c_.q_type);
    set_descale(c_.k_scale, c_.kv_type);
    set_descale(c_.v_scale, v_type(c_));
    static constexpr float caps[] = {0.0F, 50.0F, 30.0F, 8.0F, 1.0F};
    set_one_of<float>(c_.soft_cap, caps, 12);
    static constexpr dtype bias_types[] = {dtype::none, dtype::f32, dtype::f16, dtype::bf16};
    set_one_of<dtype>(c_.bias_type, bias_types, 12);
    c_.sinks = flag(c_.sinks, 4, 1);
  }

  /// Undoes the fills' amplitude, by a power of two and by what is none; 1 for floats.
  void set_descale(float& field, dtype type) {
    const auto a = static_cast<float>(amplitude(type));
    const float scales[] = {1.0F / a, 0.71F / a, 1.3F / a, 0.03F, 0.5F / a, 2.0F / a};
    field = a == 1 ? 1.0F : field;
    if (a != 1) set_one_of<float>(field, scales, 2);
  }

  /// Drops repetitions (1/sqrt(64) is in the list by another name as well), so that a value has one index.
  static std::span<const float> distinct(std::span<const float> values) {
    static thread_local std::vector<float> kept;
    kept.clear();
    for (const float v : values)
      if (std::ranges::find(kept, v) == kept.end()) kept.push_back(v);
    return kept;
  }

  /// 0: 0, 1, 2, ...; 1: all different; 2: anything, so pages may be shared and repeated.
  static std::int64_t page_style_of(const attention_case& c) {
    std::set<std::int64_t> seen;
    std::int64_t next = 0;
    bool ascending = true;
    for (const sequence& s : c.sequences)
      for (const std::int64_t page : s.pages) {
        if (!seen.insert(page).second) return 2;
        ascending = ascending && page == next++;
      }
    return ascending ? 0 : 1;
  }

  void pages(std::int64_t style_now) {
    std::int64_t needed = 0;
    for (sequence& s : c_.sequences) {
      s.pages.resize(static_cast<std::size_t>(pages_for(s.k, c_.page_size)));
      needed += static_cast<std::int64_t>(s.pages.size());
    }
    const std::int64_t style = limits_.vary_memory ? pick(options(0, 2).add(1, 0).add(4, 1).add(3, 2), style_now) : 0;
    const std::int64_t least = std::max<std::int64_t>(1, style == 2 ? 1 : needed);
    const std::int64_t spare = std::clamp<std::int64_t>(512 / c_.page_size, 1, 9);  // large pages cost time to poison
    const std::int64_t most = limits_.vary_memory ? std::max<std::int64_t>(1, needed) + spare : least;
    set(c_.pool_pages, options(least, most).add(2, std::max<std::int64_t>(1, needed)).add(4, least, most));
    if (style == 0) number_pages();
    if (style == 1) permute_pages();
    if (style == 2) share_pages();
    if (!limits_.vary_memory) return;
    static constexpr pool_layout layouts[] = {pool_layout::nhd, pool_layout::hnd};
    set_one_of<pool_layout>(c_.layout, layouts, 5);
    static constexpr q_layout orders[] = {q_layout::rows, q_layout::heads, q_layout::transposed};
    set_one_of<q_layout>(c_.q_order, orders, 5);
    static constexpr page_table_kind tables[] = {page_table_kind::block_table, page_table_kind::page_list};
    set_one_of<page_table_kind>(c_.page_table, tables, 5);
    set(c_.spare_table_entries, options(0, 9).add(1, 0).add(2, 1, 9));
  }

  void number_pages() {
    std::int64_t next = 0;
    for (sequence& s : c_.sequences)
      for (std::int64_t& page : s.pages) page = next++;
  }

  /// Draws without replacement; the swaps are the same for a source that writes down.
  void permute_pages() {
    std::vector<std::int64_t> unused(static_cast<std::size_t>(c_.pool_pages));
    for (std::size_t i = 0; i < unused.size(); ++i) unused[i] = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> place_of = unused;
    for (sequence& s : c_.sequences)
      for (std::int64_t& page : s.pages) {
        const auto last = static_cast<std::int64_t>(unused.size()) - 1;
        const bool known = page >= 0 && page < c_.pool_pages;
        const std::int64_t at =
            pick(options(0, last).add(1, 0, last), known ? place_of[static_cast<std::size_t>(page)] : 0);
        page = unused[static_cast<std::size_t>(at)];
        unused[static_cast<std::size_t>(at)] = unused.back();
        place_of[static_cast<std::size_t>(unused.back())] = at;
        unused.pop_back();
      }
  }

  void share_pages() {
    const sequence* previous = nullptr;
    for (sequence& s : c_.sequences) {
      for (std::size_t i = 0; i < s.pages.size(); ++i) {
        options from(0, c_.pool_pages - 1);
        from.add(3, 0, c_.pool_pages - 1);
        if (i > 0) from.add(2, s.pages[i - 1] + 1).add(1, s.pages[i - 1]);
        if (previous != nullptr && i < previous->pages.size()) from.add(5, previous->pages[i]);  // a common prefix
        set(s.pages[i], from);
      }
      previous = &s;
    }
  }

  void splits() {
    std::int64_t most_k = 0;
    for (const sequence& s : c_.sequences) most_k = std::max<std::int64_t>(most_k, s.k);
    const std::int64_t tiles = pages_for(most_k, tile_keys);
    set(c_.num_splits, options(0, limits_.max_splits)
                           .add(3, 1)
                           .add(2, 0)
                           .add(8, 2, 8)
                           .around(3, tiles)
                           .add(tiles > 32 ? 20 : 0, tiles, tiles + 1)
                           .add(1, 9, 16)
                           .add(1, 2, 128)
                           .add(1, 128));
  }

  void data() {
    if (!limits_.vary_data) return;
    c_.data.fill =
        static_cast<fill_kind>(pick(options(0, static_cast<int>(fill_kind::rounding_ties)).add(4, 0).add(10, 1, 10),
                                    static_cast<int>(c_.data.fill)));
    c_.data.seed = static_cast<std::uint64_t>(
        pick(options(0, 0xFFFFFFFF).add(1, 1).add(15, 0, 0xFFFFFFFF), static_cast<std::int64_t>(c_.data.seed)));
    static constexpr poison_kind poisons[] = {poison_kind::nan, poison_kind::inf, poison_kind::huge, poison_kind::zero};
    set_one_of<poison_kind>(c_.data.poison, poisons, 6);
  }

  void schedule() {
    if (!limits_.vary_schedule) return;
    c_.schedule.kind =
        static_cast<schedule_kind>(pick(options(0, 3).add(4, 0).add(4, 1, 3), static_cast<int>(c_.schedule.kind)));
    c_.schedule.seed = static_cast<std::uint64_t>(
        pick(options(0, 0xFFFF).add(1, 0, 0xFFFF), static_cast<std::int64_t>(c_.schedule.seed)));
    set(c_.schedule.depth, options(1, 8).add(1, 3).add(1, 1, 8));
    c_.schedule.wave_size = flag(c_.schedule.wave_size == 32, 1, 1) ? 32 : 64;
  }

  attention_case& c_;
  choice_source& source_;
  const space_limits& limits_;
};

}  // namespace

std::int64_t multiply_adds(const attention_case& c) {
  std::int64_t pairs = 0;
  for (const sequence& s : c.sequences) pairs += std::int64_t{s.q} * s.k;
  return pairs * c.heads_q * (c.head_dim_qk + c.head_dim_v);
}

void walk(attention_case& c, choice_source& source, const space_limits& limits) {
  walker(c, source, limits).walk();
}

}  // namespace assay
