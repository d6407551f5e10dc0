/// The building blocks of all kernels' walks. A walk sets the fields of a case one by one to values of a source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/generate/space.hpp"

namespace assay {

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

/// The steps that kernels share. Some choices are not fields of the case. A step derives them from the case before it
/// sets anything, so that a source that records a case knows what to choose.
class space_walker {
 public:
  static constexpr std::int64_t tile_keys = 64;
  static constexpr float extreme_scale = 0x1p60F;

  space_walker(attention_case& walked, choice_source& source, const space_limits& bounds)
      : c(walked), limits(bounds), source_(source) {}

  attention_case& c;
  const space_limits& limits;

  std::int64_t pick(const options& from, std::int64_t current) { return source_.choose(from.list(), current); }
  void favour_rare() { source_.favour_rare(); }
  bool flag(bool current, std::int32_t no_weight, std::int32_t yes_weight);

  template <typename T>
  void set(T& field, const options& from) {
    field = static_cast<T>(pick(from, static_cast<std::int64_t>(field)));
  }

  /// One of a list, each but the first as likely; the first is the simplest.
  template <typename T>
  void set_one_of(T& field, std::span<const T> values, std::int32_t first_weight = 1) {
    const auto bits_equal = [&field](const T& v) { return v == field; };
    const auto at = std::ranges::find_if(values, bits_equal) - values.begin();
    const auto last = static_cast<std::int64_t>(values.size()) - 1;
    field = values[static_cast<std::size_t>(
        pick(options(0, last).add(first_weight, 0).add(last > 0 ? 4 : 0, 1, last), at))];
  }

  /// heads_kv and heads_q.
  void heads();
  /// A head dim in units of `step`.
  void head_dim(std::int32_t& field, std::int32_t step, const options& in_steps);
  /// Chooses the most multiply-adds of the case. The result is each sequence's share.
  std::int64_t cost_share(std::int64_t sequences);
  /// The share of the dearest case that the space has.
  static std::int64_t dearest_share(std::int64_t sequences);
  /// The number of sequences.
  void sequence_count(const options& from);
  /// Most keys of a sequence of so many rows within its share of the cost.
  std::int64_t most_keys(std::int64_t share, std::int32_t rows) const;
  std::int64_t longest() const;  ///< keys of the longest sequence
  /// prefix_offset of all sequences, or of none.
  void prefix_offsets();
  /// Undoes the fills' amplitude, with a power of two or with another factor, and `beside`, which another scale has; 1
  /// for floats.
  void descale(float& field, dtype type, float beside = 1.0F);
  /// Of Q and K: one of them undoes a scale far from 1.
  void logit_descales();
  /// Of V. As descale(), but sometimes 0, negative, far from 1, or so large that some of O overflow f16.
  void v_descale(float& field, dtype type);
  void soft_cap();
  /// Page ids, pool size, layouts and page tables, for page lists already of the right length or to be resized.
  /// Of 5 lists without a page in two places, `weight_of_shared` more have any pages, and `weight_of_runs` have pages
  /// that follow each other as in CK issue 6054.
  void pages(std::int32_t weight_of_shared, std::int32_t weight_of_runs);
  void data();
  void schedule();
  /// Live data that is not finite, of the kinds that the case's types have. Drawn last, so that all else stays.
  void specials();
  /// Margins between the rows of outputs and of inputs: wider than what one vectorised access reaches beyond a row.
  void row_margin();
  void input_margin();
  /// Rarely rows behind the last sequence's, where the operation and the case can have them. Drawn behind all else.
  void padding_rows();
  /// Rarely the rows, heads or splits of all tensors, beyond what 32 bits address.
  void far_dimension();
  /// Of attention, sometimes the fill of that name in place of the one that was drawn. Drawn last, as specials().
  void long_tail();
  /// The same of even_weights.
  void even_weights();
  /// The same of far_logits. Drawn behind all else.
  void far_logits();
  /// Sizes of per-page descales, the usual one first: it has the weight, all others together 4. Drawn last, as
  /// specials().
  void descale_sizes(std::span<const descale_size> sizes, std::int32_t usual_weight = 16);

 private:
  choice_source& source_;
  bool had_long_tail_ = false;  ///< the walked case, before its fill was drawn
  bool had_even_weights_ = false;
  bool had_far_logits_ = false;
};

/// Drops repetitions (1/sqrt(64) is in a list by another name as well), so that a value has one index.
std::vector<float> distinct(std::span<const float> values);

}  // namespace assay
