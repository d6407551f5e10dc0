#include "properties/generate/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/fit_pages.hpp"
#include "properties/generate/large.hpp"
#include "properties/generate/space.hpp"
#include "properties/generate/support_table.hpp"

namespace assay {
namespace {

constexpr std::int64_t least_dim = 8, most_dim = 1024, dim_step = 8;  // of any valid case
constexpr std::int64_t most_page_size = 65536, tile_of_keys = 16;
constexpr std::int64_t any_number = 1024;

/// Numbers of a case's own, each from another part of its seed: so that what is chosen varies, and stays for the case.
std::uint64_t choice_of(const attention_case& c, std::uint64_t what) {
  std::uint64_t z = c.data.seed + 0x9E3779B97F4A7C15U * (what + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// The value if it is small enough. Half of the others become the largest, the other half anything from `least` on.
std::int32_t cut(std::int64_t value, std::int64_t least, std::int64_t most) {
  if (most != 0 && value > most)
    value = value % 2 == 0 ? most : least + value % std::max<std::int64_t>(most - least + 1, 1);
  return static_cast<std::int32_t>(std::max(value, least));
}

class fitter {
 public:
  fitter(const attention_case& c, const assay_support& s) : c_(c), s_(s), operation_(operation_of(c)) {}

  attention_case fitted() {
    const std::int64_t cost = multiply_adds(c_);
    types();
    features();
    heads();
    head_dims();
    page_size();
    features();  // the usual scale follows head_dim_qk
    batch();
    lengths();
    splits();
    pool();
    bound_cost(std::max(cost, most_cost));
    for (int tries = 0; tries < 48 && !is_valid(c_); ++tries) shorten();
    return c_;
  }

 private:
  static constexpr std::int64_t most_cost = 20'000'000;  // of the dearest usual cases

  void types() {
    const std::vector<type_choice> all = supported_types(c_.kernel, s_);
    const type_choice now{c_.q_type, c_.kv_type, c_.o_type};
    if (all.empty() || std::ranges::find(all, now) != all.end()) return;
    give_types(c_, all[choice_of(c_, 0) % all.size()]);
  }

  void bias_type() {
    if (c_.bias_type == dtype::none) return;
    std::vector<dtype> taken;
    for (const auto& [type, lacks] :
         {std::pair{dtype::f32, s_.no_bias_f32}, {dtype::f16, s_.no_bias_f16}, {dtype::bf16, s_.no_bias_bf16}})
      if (lacks == 0) taken.push_back(type);
    if (!taken.empty() && std::ranges::find(taken, c_.bias_type) == taken.end())
      c_.bias_type = taken[choice_of(c_, 1) % taken.size()];
  }

  /// What is taken away may bring what another row takes away: three ways of rotary keys are the longest chain.
  void features() {
    bias_type();
    constexpr int longest_chain = 3;
    for (int pass = 0; pass < longest_chain; ++pass)
      for (const supported_feature& f : supported_features())
        if (s_.*f.lacks != 0 && (f.operations & operation_) != 0 && f.take_away != nullptr && f.has(c_))
          f.take_away(c_);
    if (s_.input_alignment > 1) c_.input_margin = aligned(c_.input_margin, s_.input_alignment);
    if (s_.output_alignment > 1 && operation_ == of_attention)
      c_.row_margin = aligned(c_.row_margin, s_.output_alignment);
    tame_logits();
  }

  static std::int32_t aligned(std::int32_t margin, std::int32_t step) { return (margin + step - 1) / step * step; }

  /// Where no scale may undo the amplitude of quantised data, the softmax scale does if it may.
  void tame_logits() {
    if (operation_ != of_attention || (s_.no_q_scale == 0 && s_.no_k_scale == 0) || s_.no_other_scale != 0) return;
    const auto left = static_cast<float>(amplitude(c_.q_type) * amplitude(c_.kv_type)) * c_.q_scale * c_.k_scale;
    constexpr float much = 8;
    if (left > much && std::fabs(c_.scale) * left > much * usual_scale(c_)) c_.scale = usual_scale(c_) / left;
  }

  void heads() {
    const auto bound = [](std::int64_t most) { return most == 0 ? any_number : std::min(most, any_number); };
    const std::int64_t most_q = bound(s_.most_heads_q), most_kv = bound(s_.most_heads_kv);
    std::int64_t group = c_.heads_q / c_.heads_kv;
    if (operation_ != of_append_kv && (!holds(s_.group_sizes, group) || group > most_q))
      group = std::max<std::int64_t>(nearest_of(s_.group_sizes, group, 1, most_q), 1);
    const std::int64_t most = std::max<std::int64_t>(1, std::min(most_kv, most_q / group));
    c_.heads_kv = std::min(c_.heads_kv, static_cast<std::int32_t>(most));
    c_.heads_q = static_cast<std::int32_t>(c_.heads_kv * group);
  }

  /// The nearest multiple of the step that is taken, and that `suits`; the dim itself where none is.
  template <typename Suits>
  static std::int32_t nearest_dim(std::int32_t dim, const Suits& suits) {
    if (suits(dim)) return dim;
    std::int64_t best = dim, apart = most_dim;
    for (std::int64_t d = least_dim; d <= most_dim; d += dim_step)
      if (suits(d) && std::abs(d - dim) < apart) best = d, apart = std::abs(d - dim);
    return static_cast<std::int32_t>(best);
  }

  void head_dims() {
    const std::int32_t in = std::max(s_.input_alignment, 1);
    const std::int32_t out = operation_ == of_attention ? std::max(s_.output_alignment, 1) : 1;
    const bool are_equal = s_.no_unequal_head_dims != 0 && operation_ != of_mqa_logits;
    const auto suits_v = [&](std::int64_t d) { return holds(head_dims_v_of(s_), d) && d % in == 0 && d % out == 0; };
    c_.head_dim_qk = nearest_dim(c_.head_dim_qk, [&](std::int64_t d) {
      const bool suits_order = c_.k_order == key_order::plain || d % tile_of_keys == 0;
      return holds(s_.head_dims, d) && d % in == 0 && suits_order && (!are_equal || suits_v(d));
    });
    if (c_.head_dim_qk % tile_of_keys != 0) c_.k_order = key_order::plain;
    if (operation_ == of_mqa_logits) return;
    c_.head_dim_v = are_equal ? c_.head_dim_qk : nearest_dim(c_.head_dim_v, suits_v);
  }

  /// Pages of per-page descales hold what the built-in kernels ask for, if the kernel takes such pages.
  void page_size() {
    const bool is_of_tiles = c_.k_order == key_order::preshuffled;
    if (holds(s_.page_sizes, c_.page_size) && (!is_of_tiles || c_.page_size % tile_of_keys == 0)) return;
    const kernel_space* space = find_kernel_space(c_.kernel);
    std::int64_t step = is_of_tiles ? tile_of_keys : 1;
    if (c_.kv_descale == descale_kind::per_page && space != nullptr) step = std::max(space->per_page_keys, 1);
    std::int64_t size = nearest_of(s_.page_sizes, c_.page_size, 1, most_page_size, step);
    if (size < 0) size = nearest_of(s_.page_sizes, c_.page_size, 1, most_page_size);
    if (size < 0) return;
    if (size % tile_of_keys != 0) c_.k_order = key_order::plain;
    resize_pages(c_, static_cast<std::int32_t>(size));
  }

  /// Sequences, and whether they have rows and keys.
  void batch() {
    if (s_.most_sequences != 0 && std::ssize(c_.sequences) > s_.most_sequences)
      c_.sequences.resize(static_cast<std::size_t>(s_.most_sequences));
    const auto has_rows = [](const sequence& s) { return s.q > 0; };
    if (s_.no_empty_batch == 0 || std::ranges::any_of(c_.sequences, has_rows)) return;
    if (c_.sequences.empty()) c_.sequences.push_back({.q = 0, .k = 0, .prefix_offset = {}, .pages = {}});
    give_rows(c_.sequences.front(), 1);
  }

  void give_rows(sequence& s, std::int32_t rows) {
    s.q = rows;
    if (is_batch())
      for (sequence& other : c_.sequences) other.q = rows;
  }

  bool is_batch() const { return c_.batching == q_batching::batch; }

  void lengths() {
    const std::int32_t least_rows = s_.no_sequences_without_rows != 0 ? 1 : 0;
    for (sequence& s : c_.sequences)
      if (const std::int32_t rows = cut(s.q, least_rows, s_.most_rows); rows != s.q) give_rows(s, rows);
    bound_rows();
    if (s_.most_columns != 0) c_.max_model_len = cut(c_.max_model_len, 0, s_.most_columns);
    const bool all_see_keys = s_.no_rows_without_keys != 0 && operation_ != of_append_kv;
    for (sequence& s : c_.sequences) {
      const bool needs_keys = s_.no_sequences_without_keys != 0 || (all_see_keys && s.q > 0);
      std::int32_t keys = cut(s.k, needs_keys ? 1 : 0, s_.most_keys);
      if (operation_ == of_mqa_logits && s_.most_columns != 0)
        keys = std::min(keys, static_cast<std::int32_t>(s_.most_columns));
      if (keys != s.k) set_keys_of(c_, s, keys);
    }
    if (all_see_keys) show_keys();
    if (operation_ == of_mqa_logits)
      for (const sequence& s : c_.sequences) c_.max_model_len = std::max(c_.max_model_len, s.k);
  }

  /// Of all sequences together. In batch mode fewer for each, else the last sequences have fewer or none.
  void bound_rows() {
    if (s_.most_total_rows == 0 || c_.sequences.empty()) return;
    const std::int64_t least = s_.no_sequences_without_rows != 0 || is_batch() ? 1 : 0;
    const std::int64_t most = s_.most_total_rows;
    if (least > 0 && std::ssize(c_.sequences) > most) c_.sequences.resize(static_cast<std::size_t>(most));
    std::int64_t left = most - least * std::ssize(c_.sequences);
    if (is_batch()) {
      const std::int64_t each = most / std::ssize(c_.sequences);
      for (sequence& s : c_.sequences) s.q = static_cast<std::int32_t>(std::min<std::int64_t>(s.q, each));
      return;
    }
    for (sequence& s : c_.sequences) {
      const std::int64_t above = std::min(std::max<std::int64_t>(s.q - least, 0), left);
      s.q = static_cast<std::int32_t>(std::min<std::int64_t>(s.q, least + above));
      left -= above;
    }
    c_.padding_rows = static_cast<std::int32_t>(std::min<std::int64_t>(c_.padding_rows, left));
  }

  /// With a causal mask a row's position is not negative; with a window it is not as far behind the keys.
  void show_keys() {
    const visibility mask = visibility_of(c_);
    for (sequence& s : c_.sequences) {
      if (s.q == 0) continue;
      if (mask.is_causal && s.k < s.q && !s.prefix_offset) {
        if (operation_ == of_mqa_logits || (s_.most_keys != 0 && s.q > s_.most_keys))
          give_rows(s, 1);
        else
          set_keys_of(c_, s, s.q);
      }
      if (!s.prefix_offset) continue;
      const std::int64_t last = std::int64_t{s.k} + mask.window - 1 - s.q;
      const std::int64_t least = mask.is_causal ? 0 : INT32_MIN + std::int64_t{1},
                         most = mask.window > 0 ? last : INT32_MAX;
      if (least > most) {
        for (sequence& each : c_.sequences) each.prefix_offset.reset();
        return show_keys();
      }
      s.prefix_offset = static_cast<std::int32_t>(std::clamp<std::int64_t>(*s.prefix_offset, least, most));
    }
  }

  void splits() {
    if (s_.most_splits != 0 && c_.num_splits > s_.most_splits) c_.num_splits = cut(c_.num_splits, 1, s_.most_splits);
  }

  std::int64_t bytes_of_pool() const {
    std::int64_t most = 0;
    for (const planned_tensor& t : plan_tensors(c_))
      if (t.content == tensor_content::keys || t.content == tensor_content::values)
        most = std::max(most, checked_bytes(t).value_or(INT64_MAX));
    return most;
  }

  bool pool_is_too_large() const {
    return (s_.most_pages != 0 && c_.pool_pages > s_.most_pages) ||
           (s_.most_pool_bytes != 0 && bytes_of_pool() > s_.most_pool_bytes);
  }

  void pool() {
    if (!pool_is_too_large() && has_room()) return;
    pack_pages(c_, 1);
    for (std::int64_t most = c_.pool_pages; pool_is_too_large() && most > 1;) {
      most = s_.most_pages != 0 && most > s_.most_pages ? s_.most_pages : most / 2;
      if (operation_ == of_append_kv)  // no page twice
        shorten();
      else
        share_pages(c_, most);
    }
    if (pool_is_too_large()) c_.packing = tensor_packing::separate, c_.input_margin = 0;
  }

  /// Whether the pool is as valid as others: with other sizes it may not be.
  bool has_room() const {
    return std::ranges::all_of(plan_tensors(c_), [](const planned_tensor& t) {
      return !t.is_pool || checked_bytes(t).value_or(INT64_MAX) <= written_pool_bytes_max;
    });
  }

  void bound_cost(std::int64_t most) {
    for (int tries = 0; tries < 32 && multiply_adds(c_) > most; ++tries) shorten();
  }

  /// Half of the keys, then half of the rows, then half of the sequences.
  void shorten() {
    const std::int32_t least_keys = s_.no_sequences_without_keys != 0 || s_.no_rows_without_keys != 0 ? 1 : 0;
    bool did = false;
    for (sequence& s : c_.sequences) {
      if (s.k / 2 < least_keys || s.k < 2) continue;
      set_keys_of(c_, s, s.k / 2);
      did = true;
    }
    if (!did)
      for (sequence& s : c_.sequences)
        if (s.q > 1) s.q /= 2, did = true;
    if (!did && c_.sequences.size() > 1) c_.sequences.resize(c_.sequences.size() / 2);
    pack_pages(c_, 1);
    if (s_.no_rows_without_keys != 0 && operation_ != of_append_kv) show_keys();
  }

  attention_case c_;
  const assay_support& s_;
  const operation_set operation_;
};

bool is_within(const attention_case& c, const assay_support& s) {
  return unsupported_by(s, c).empty() && is_valid(c);
}

/// As small as a case can be before it is fitted.
attention_case seed_case(std::string_view kernel) {
  attention_case c;
  c.kernel = kernel;
  c.sequences = {{.q = 1, .k = 1, .prefix_offset = {}, .pages = {0}}};
  c.pool_pages = 1;
  c.num_splits = operation_of(kernel) == of_append_kv ? 0 : 1;
  if (operation_of(kernel) == of_mqa_logits) {
    c.batching = q_batching::batch;
    c.max_model_len = 1;
  }
  if (const kernel_space* space = find_kernel_space(kernel)) {
    c.q_type = space->types.front().q;
    c.kv_type = space->types.front().kv;
    c.o_type = space->types.front().o;
    set_usual_scales(c);
  }
  if (operation_of(kernel) == of_attention) c.scale = usual_scale(c);
  return c;
}

}  // namespace

attention_case smallest_case(std::string_view kernel, const assay_support& s) {
  const attention_case seed = seed_case(kernel);
  attention_case c = is_within(seed, s) ? seed : fitter(seed, s).fitted();
  if (const std::string what = unsupported_by(s, c); !what.empty())
    throw case_error(fmt::format("{}: no case is within what it declares: each one has {}", kernel, what));
  try {
    validate(c);
  } catch (const case_error& e) {
    throw case_error(fmt::format("{}: no case is within what it declares: {}", kernel, e.what()));
  }
  return c;
}

std::string impossible_support(std::string_view kernel, const assay_support& s) {
  if (find_kernel_space(kernel) != nullptr && supported_types(kernel, s).empty())
    return fmt::format("{}: no case can have any of the types that it {}", kernel,
                       types_in(s).empty() ? "takes" : "declares");
  try {
    smallest_case(kernel, s);
    return {};
  } catch (const case_error& e) {
    return e.what();
  }
}

attention_case fit(const attention_case& c, const assay_support& s) {
  if (unsupported_by(s, c).empty()) return c;
  attention_case near = c;
  near.data.overrides.clear();
  near = fitter(near, s).fitted();
  if (is_within(near, s)) return near;
  if (!impossible_support(c.kernel, s).empty()) return c;
  attention_case least = smallest_case(c.kernel, s);
  least.why = c.why;
  least.data.seed = c.data.seed;
  return least;
}

}  // namespace assay
