#include "properties/generate/shrink.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/kernel_space.hpp"

namespace assay {
namespace {

constexpr std::int32_t least_head_dim = 64;  // smaller ones are legal, but no kernel here supports them

/// The table entry of the case's kernel; the first entry for an unknown kernel.
const kernel_space& space_of(const attention_case& c) {
  const kernel_space* known = find_kernel_space(c.kernel);
  return known != nullptr ? *known : *kernel_spaces().front();
}

type_choice types_of_case(const attention_case& c) {
  return {c.q_type, c.kv_type, c.o_type};
}

/// Page sizes are multiples of it.
std::int32_t page_step(const attention_case& c) {
  if (c.k_order == key_order::preshuffled) return 16;
  return c.kv_descale == descale_kind::per_page ? std::max(space_of(c).per_page_keys, 1) : 1;
}
std::int32_t plain_page_size(const attention_case& c) {
  return std::max(16, page_step(c));
}

/// Simplest first: data that a reader can follow.
int rank(fill_kind fill) {
  switch (fill) {
    case fill_kind::constant: return 0;
    case fill_kind::page_tagged: return 1;
    default: return 2 + static_cast<int>(fill);
  }
}

std::int64_t rank_of_splits(std::int64_t splits) {
  return splits == 0 ? 1 : splits == 1 ? 0 : splits;
}
std::int64_t rank_of_page_size(const attention_case& c) {
  return c.page_size == plain_page_size(c) ? 0 : c.page_size;
}
std::int64_t rank_of_ratio(float ratio) {
  return ratio == 1 ? 0 : ratio == 2 ? 1 : ratio == 10 ? 2 : 3;
}

std::int64_t count(std::initializer_list<bool> flags) {
  return std::ranges::count(flags, true);
}

std::int64_t own_features(const attention_case& c) {
  std::int64_t on = 0;
  for (const operation* op : operations)
    on += std::ranges::count_if(op->own_fields,
                                [&](const own_field& f) { return f.make_plain != nullptr && !f.is_plain(c); });
  return on;
}

std::int64_t features(const attention_case& c) {
  const bool prefix = !c.sequences.empty() && c.sequences.front().prefix_offset.has_value();
  const type_choice& plain = space_of(c).types.front();
  return count({c.q_type != plain.q,
                c.kv_type != plain.kv,
                c.o_type != plain.o,
                c.causal,
                c.window != 0,
                prefix,
                c.batching != describe(c).plain_batching,
                c.kv_descale != descale_kind::per_tensor,
                c.soft_cap != 0,
                c.bias_type != dtype::none,
                c.sinks,
                c.data.specials != special_kind::none,
                c.layout != pool_layout::nhd,
                c.v_has_other_layout,
                c.packing != tensor_packing::separate,
                c.bias_shared != bias_sharing::none,
                c.q_order != q_layout::rows,
                c.page_table != page_table_kind::block_table,
                c.spare_table_entries != 0,
                c.scale != 1,
                c.q_scale != 1,
                c.k_scale != 1,
                c.v_scale != 1,
                c.workspace_budget_bytes != 0}) +
         own_features(c);
}

void number_pages(attention_case& c) {
  std::int64_t next = 0;
  for (sequence& s : c.sequences) {
    s.pages.resize(static_cast<std::size_t>(pages_for(s.k, c.page_size)));
    for (std::int64_t& page : s.pages) page = next++;
  }
  c.pool_pages = next;
}

/// The same sharing with the ids in order of first use and no page unreferenced.
void renumber_pages(attention_case& c) {
  std::map<std::int64_t, std::int64_t> new_id;
  for (sequence& s : c.sequences)
    for (std::int64_t& page : s.pages)
      page = new_id.try_emplace(page, static_cast<std::int64_t>(new_id.size())).first->second;
  c.pool_pages = static_cast<std::int64_t>(new_id.size());
}

void set_keys(attention_case& c, sequence& s, std::int32_t keys) {
  s.k = keys;
  s.pages.resize(static_cast<std::size_t>(pages_for(keys, c.page_size)));
}

std::int64_t rows(const attention_case& c) {
  std::int64_t total = 0;
  for (const sequence& s : c.sequences) total += s.q;
  return total;
}

class shrinker {
 public:
  shrinker(const attention_case& c, const assay_support& takes) : from_(c), takes_(takes), now_(complexity(c)) {}

  std::vector<attention_case> all() {
    specials();
    padding();
    sequences();
    lengths();
    heads();
    turn_off();
    memory();
    numbers();
    data();
    return std::move(found_);
  }

 private:
  /// Keeps the changed case if it is valid and simpler. Overrides that a change puts outside their tensors are dropped.
  template <typename Change>
  void attempt(Change&& change) {
    attention_case candidate = from_;
    change(candidate);
    if (!candidate.data.overrides.empty() && !is_valid(candidate)) candidate.data.overrides.clear();
    // A failure mostly needs a row, so that of a removed sequence goes to a remaining one.
    if (rows(candidate) == 0 && rows(from_) > 0 && !candidate.sequences.empty()) give_a_row(candidate);
    candidate = fit(candidate, takes_);
    if (complexity(candidate) < now_ && is_valid(candidate)) found_.push_back(std::move(candidate));
  }

  static void give_a_row(attention_case& c) {
    c.sequences.front().q = 1;
    if (c.batching == q_batching::batch)
      for (sequence& s : c.sequences) s.q = 1;
  }

  template <typename T, typename V>
  void attempt_value(T attention_case::* field, V value) {
    attempt([&](attention_case& c) { c.*field = static_cast<T>(value); });
  }

  /// Single sequences, or quarters, eighths and so on of many: a step for each would be too many.
  std::vector<std::pair<std::size_t, std::size_t>> runs_of_sequences() const {
    constexpr std::size_t few = 24, most_parts = 32;
    const std::size_t n = from_.sequences.size();
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    if (n < 2) return runs;
    for (std::size_t parts = n <= few ? n : 4; parts <= std::min(n, most_parts); parts *= 2)
      for (std::size_t i = 0; i < parts; ++i) runs.emplace_back(n * i / parts, n * (i + 1) / parts);
    if (n > most_parts) runs.emplace_back(n - 1, n);
    return runs;
  }

  void sequences() {
    const std::size_t n = from_.sequences.size();
    if (n < 2) return;
    for (const bool first_half : {true, false})
      attempt([&](attention_case& c) {
        const auto middle = c.sequences.begin() + static_cast<std::ptrdiff_t>(n / 2);
        first_half ? c.sequences.erase(middle, c.sequences.end()) : c.sequences.erase(c.sequences.begin(), middle);
      });
    for (const auto& [begin, end] : runs_of_sequences())
      attempt([&](attention_case& c) {
        c.sequences.erase(c.sequences.begin() + static_cast<std::ptrdiff_t>(begin),
                          c.sequences.begin() + static_cast<std::ptrdiff_t>(end));
      });
  }

  void lengths() {
    const auto each = [this](auto&& change) {
      attempt([&](attention_case& c) {
        for (sequence& s : c.sequences) change(c, s);
      });
      for (const auto& [begin, end] : runs_of_sequences())
        attempt([&](attention_case& c) {
          for (std::size_t i = begin; i < end; ++i) change(c, c.sequences[i]);
        });
    };
    each([](attention_case& c, sequence& s) { set_keys(c, s, 0); });
    each([](attention_case& c, sequence& s) { set_keys(c, s, std::min(s.k, 1)); });
    each([](attention_case&, sequence& s) { s.q = std::min(s.q, 1); });
    each([](attention_case&, sequence& s) { s.q = 0; });
    each([](attention_case& c, sequence& s) { set_keys(c, s, s.k / 2); });
    each([](attention_case&, sequence& s) { s.q -= s.q / 2; });
    for (const std::int32_t part : {4, 16, 128})
      each([part](attention_case& c, sequence& s) { set_keys(c, s, s.k - s.k / part); });
    each([](attention_case& c, sequence& s) { set_keys(c, s, (std::max(s.k, 1) - 1) / 64 * 64); });
    each([](attention_case& c, sequence& s) { set_keys(c, s, (std::max(s.k, 1) - 1) / 64 * 64 + 1); });
    each([](attention_case& c, sequence& s) { set_keys(c, s, std::max(s.k - 1, 0)); });
    each([](attention_case&, sequence& s) { s.q = std::max(s.q - 1, 0); });
  }

  void set_heads(std::int32_t kv, std::int32_t group) {
    attempt([&](attention_case& c) {
      c.heads_kv = kv;
      c.heads_q = kv * group;
    });
  }

  void heads() {
    const std::int32_t kv = from_.heads_kv, group = from_.heads_q / kv;
    set_heads(1, 1);
    set_heads(1, group);
    set_heads(kv, 1);
    set_heads(std::max(kv / 2, 1), group);
    set_heads(kv, std::max(group / 2, 1));
    set_heads(std::max(kv - 1, 1), group);
    set_heads(kv, std::max(group - 1, 1));
    attempt([](attention_case& c) { c.head_dim_qk = c.head_dim_v = least_head_dim; });
    const std::int32_t step = space_of(from_).head_dim_step;
    for (const auto dim : {&attention_case::head_dim_qk, &attention_case::head_dim_v})
      for (const std::int32_t smaller : {least_head_dim, from_.*dim / (2 * step) * step, from_.*dim - step})
        attempt_value(dim, std::max(smaller, least_head_dim));
  }

  void turn_off() {
    attempt_value(&attention_case::causal, false);
    attempt_value(&attention_case::window, 0);
    attempt([](attention_case& c) {
      for (sequence& s : c.sequences) s.prefix_offset.reset();
    });
    attempt_value(&attention_case::soft_cap, 0.0F);
    attempt([](attention_case& c) {
      c.bias_type = dtype::none;
      c.bias_shared = bias_sharing::none;
    });
    attempt_value(&attention_case::bias_shared, bias_sharing::none);
    attempt_value(&attention_case::sinks, false);
    attempt_value(&attention_case::workspace_budget_bytes, 0);
    attempt_value(&attention_case::batching, q_batching::group);
    attempt([](attention_case& c) {
      c.kv_descale = descale_kind::per_tensor;
      c.data.descale_ratio = 1;
      c.data.descales = descale_size::near_1;
    });
    for (const own_field& field : describe(from_).own_fields)
      if (field.make_plain != nullptr) attempt(field.make_plain);
    types();
    for (const auto scale :
         {&attention_case::scale, &attention_case::q_scale, &attention_case::k_scale, &attention_case::v_scale})
      attempt_value(scale, 1.0F);
  }

  /// Changes types to others that the kernel supports, with scales that still undo the fills' amplitude: 1 for floats,
  /// unchanged for types that stay quantised.
  void types() {
    const type_choice now = types_of_case(from_);
    for (const type_choice& t : space_of(from_).types) {
      if (t == now) return;
      attempt([&](attention_case& c) {
        c.q_type = t.q;
        c.kv_type = t.kv;
        c.o_type = t.o;
        if (size_bytes(t.q) > 1) c.q_scale = 1;
        if (size_bytes(t.kv) > 1) c.k_scale = c.v_scale = 1;
      });
    }
  }

  void memory() {
    attempt(number_pages);
    attempt(renumber_pages);
    lower_pages();
    const std::int32_t step = page_step(from_);
    for (const std::int32_t size : {plain_page_size(from_), from_.page_size / (2 * step) * step, step})
      attempt([&](attention_case& c) {
        c.page_size = std::max(size, step);
        number_pages(c);
      });
    attempt_value(&attention_case::layout, pool_layout::nhd);
    attempt_value(&attention_case::v_has_other_layout, false);
    attempt_value(&attention_case::packing, tensor_packing::separate);
    attempt_value(&attention_case::q_order, q_layout::rows);
    attempt_value(&attention_case::page_table, page_table_kind::block_table);
    attempt_value(&attention_case::spare_table_entries, 0);
    attempt_value(&attention_case::spare_table_entries, std::min(from_.spare_table_entries, 1));
    attempt_value(&attention_case::far_dimension, 0);
    for (const auto margin : {&attention_case::row_margin, &attention_case::input_margin})
      for (const std::int32_t narrower : {0, 1, from_.*margin / 2}) attempt_value(margin, narrower);
  }

  /// Nearer to the pool's beginning with the same distances between them, for failures that take high addresses.
  void lower_pages() {
    std::int64_t lowest = from_.pool_pages, highest = 0;
    for (const sequence& s : from_.sequences)
      for (const std::int64_t page : s.pages) {
        lowest = std::min(lowest, page);
        highest = std::max(highest, page);
      }
    if (lowest > highest) return;
    for (std::int64_t by = lowest;; by /= 2) {
      attempt([&](attention_case& c) {
        for (sequence& s : c.sequences)
          for (std::int64_t& page : s.pages) page -= by;
        c.pool_pages = highest - by + 1;
      });
      if (by == 0) break;
    }
  }

  void numbers() {
    const std::int32_t splits = from_.num_splits;
    for (const std::int32_t fewer : {1, 2, splits / 2, splits - 1})
      if (fewer > 0) attempt_value(&attention_case::num_splits, fewer);
    columns();
    if (from_.window > 1)
      for (const std::int32_t narrower : {1, from_.window / 2, from_.window - 1})
        attempt_value(&attention_case::window, narrower);
    const auto offsets = [this](auto&& change) {
      attempt([&](attention_case& c) {
        for (sequence& s : c.sequences)
          if (s.prefix_offset) s.prefix_offset = change(*s.prefix_offset);
      });
    };
    offsets([](std::int32_t) { return 0; });
    offsets([](std::int32_t p) { return p / 2; });
    offsets([](std::int32_t p) { return p > 0 ? p - 1 : p < 0 ? p + 1 : 0; });
  }

  /// Down to the longest context, which max_model_len has to hold.
  void columns() {
    if ((describe(from_).capabilities & has_columns) == 0) return;
    std::int32_t longest = 0;
    for (const sequence& s : from_.sequences) longest = std::max(longest, s.k);
    for (const std::int32_t fewer : {longest, longest + 1, longest + (from_.max_model_len - longest) / 2})
      attempt_value(&attention_case::max_model_len, fewer);
    // A context that fills its row stays full when it shrinks.
    for (const std::int32_t shorter :
         {longest / 2, longest - longest / 4, (std::max(longest, 1) - 1) / 64 * 64, longest - 1})
      attempt([&](attention_case& c) {
        if (shorter < 0) return;
        c.max_model_len = std::max(c.max_model_len - (longest - shorter), 0);
        for (sequence& s : c.sequences) set_keys(c, s, std::min(s.k, c.max_model_len));
      });
  }

  /// Comes first: what fails without NaN is the more telling.
  void specials() {
    for (const special_kind kind : {special_kind::none, special_kind::nans})
      attempt([kind](attention_case& c) { c.data.specials = kind; });
  }

  void padding() {
    const std::int32_t now = from_.padding_rows;
    if (now == 0) return;
    for (const std::int32_t fewer : {0, 1, now / 2, now - 1}) attempt_value(&attention_case::padding_rows, fewer);
  }

  void data() {
    const auto set = [this](auto&& change) { attempt([&](attention_case& c) { change(c.data, c.schedule); }); };
    set([](data_recipe& d, schedule_recipe&) { d.overrides.clear(); });
    for (std::size_t i = 0; i < from_.data.overrides.size(); ++i)
      set([i](data_recipe& d, schedule_recipe&) {
        d.overrides.erase(d.overrides.begin() + static_cast<std::ptrdiff_t>(i));
      });
    for (const fill_kind fill : {fill_kind::constant, fill_kind::page_tagged, fill_kind::normal})
      set([fill](data_recipe& d, schedule_recipe&) { d.fill = fill; });
    set([](data_recipe& d, schedule_recipe&) { d.bias = bias_kind::normal; });
    set([](data_recipe& d, schedule_recipe&) { d.sinks = sink_kind::normal; });
    set([](data_recipe& d, schedule_recipe&) { d.descales = descale_size::near_1; });
    set([](data_recipe& d, schedule_recipe&) { d.poison = poison_kind::nan; });
    set([](data_recipe& d, schedule_recipe&) { d.seed = 1; });
    for (const float ratio : {1.0F, 2.0F, 10.0F})
      set([ratio](data_recipe& d, schedule_recipe&) { d.descale_ratio = ratio; });
    set([](data_recipe&, schedule_recipe& s) { s = schedule_recipe{}; });
    set([](data_recipe&, schedule_recipe& s) { s.kind = schedule_kind::round_robin; });
    set([](data_recipe&, schedule_recipe& s) { s.kind = schedule_kind::reverse; });
    set([](data_recipe&, schedule_recipe& s) { s.wave_size = 64; });
    set([](data_recipe&, schedule_recipe& s) { s.seed = 0; });
    set([](data_recipe&, schedule_recipe& s) { s.depth = 3; });
    attempt([](attention_case& c) { c.why.clear(); });
  }

  const attention_case& from_;
  const assay_support& takes_;
  std::vector<std::int64_t> now_;
  std::vector<attention_case> found_;
};

}  // namespace

std::vector<std::int64_t> complexity(const attention_case& c) {
  std::int64_t keys = 0, most_rows = rows(c), entries = 0, disorder = 0, offsets = 0;
  const auto used = static_cast<std::int64_t>(pages_in_use(c).size());
  for (const sequence& s : c.sequences) {
    keys += s.k;
    offsets += std::abs(std::int64_t{s.prefix_offset.value_or(0)});
    for (const std::int64_t page : s.pages) disorder += page == entries++ ? 0 : 1;
  }
  const auto seed = [](std::uint64_t s, std::uint64_t plain) {
    return s == plain ? 0 : static_cast<std::int64_t>(s >> 1) + 1;  // fits; one bit of the order does not matter
  };
  return {static_cast<std::int64_t>(c.sequences.size()),
          keys + most_rows,
          c.heads_q + c.heads_kv,
          c.head_dim_qk + c.head_dim_v,
          features(c),
          rank_of_splits(c.num_splits),
          rank_of_page_size(c),
          entries - used,
          c.pool_pages,
          disorder,
          c.window,
          offsets,
          c.max_model_len,
          c.padding_rows,
          c.row_margin,
          c.input_margin,
          c.far_dimension,
          c.spare_table_entries,
          static_cast<std::int64_t>(c.data.overrides.size()),
          rank(c.data.fill),
          rank_of_ratio(c.data.descale_ratio),
          static_cast<std::int64_t>(c.data.descales),
          static_cast<std::int64_t>(c.data.bias),
          static_cast<std::int64_t>(c.data.sinks),
          static_cast<std::int64_t>(c.data.specials),
          static_cast<std::int64_t>(c.data.poison),
          seed(c.data.seed, 1),
          static_cast<std::int64_t>(c.schedule.kind),
          c.schedule.wave_size == 64 ? 0 : 1,
          seed(c.schedule.seed, 0),
          c.schedule.depth == 3 ? 0 : 1,
          static_cast<std::int64_t>(c.why.size())};
}

std::vector<attention_case> simpler(const attention_case& c, const assay_support& takes) {
  return shrinker(c, takes).all();
}

}  // namespace assay
