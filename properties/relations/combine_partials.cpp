#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "oracle/atoms.hpp"
#include "properties/data/difference.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/relations/agreement.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// One row and head of the partials, joined in binary64, with a bound of what the kernel's f32 may add.
class joined_row {
 public:
  joined_row(const execution& ran, const tensor& lse_partial, std::int64_t row, std::int64_t head)
      : splits_(ran.planned.num_splits), row_(row), head_(head), declared_(ran.declared) {
    for (std::int64_t s = 0; s < splits_; ++s) lse_.push_back(value_at(lse_partial, lse_partial.offset(s, row, head)));
    for (const double lse : lse_) largest_ = std::max(largest_, lse);
    for (const double lse : lse_) total_ += weight(lse);
    for (const double lse : lse_)
      if (weight(lse) > 0) total_error_ += (weight(lse) * weight_error(lse) + declared_.exp2_flush) / total_;
  }

  /// No split has a key; false where one is NaN.
  bool is_empty() const {
    return largest_ == -std::numeric_limits<double>::infinity() &&
           std::ranges::none_of(lse_, [](double lse) { return std::isnan(lse); });
  }
  double lse() const { return largest_ + std::log(total_); }
  double lse_error() const {
    return declared_.log_absolute_error + declared_.log_relative_error * std::log(total_) + total_error_ +
           (declared_.base_of_lse == lse_base::two ? 3 : 1) * 0x1p-24 * (1 + 0x1p-10) * std::fabs(lse());
  }

  /// Joined output of one column.
  struct joined_output {
    double value = 0;
    double error = 0;             ///< bound on the kernel's distance before it stores
    bool may_be_special = false;  ///< a NaN or infinity may meet a weight of 0 in the kernel, which may form the
                                  ///< product; or the sum, before it is divided, may overflow
  };
  joined_output output(const tensor& o_partial, std::int64_t column) const {
    double sum = 0;
    double sum_of_sizes = 0;
    double error = 0;
    bool may_be_special = false;
    for (std::int64_t s = 0; s < splits_; ++s) {
      const double w = weight(lse_[static_cast<std::size_t>(s)]);
      const double o = value_at(o_partial, o_partial.offset(s, row_, head_, column));
      if (w < 0x1p-125 && !std::isfinite(o)) {
        may_be_special = true;
        continue;
      }
      if (w == 0) continue;
      sum += w * o;
      if (!std::isfinite(o)) continue;
      sum_of_sizes += w * std::fabs(o);
      error += oracle::f32_underflow;  // of the product; sums below f32's normal range are exact
      const double relative = weight_error(lse_[static_cast<std::size_t>(s)]) + total_error_;
      error += (w * relative + declared_.exp2_flush) * std::fabs(o);
    }
    may_be_special = may_be_special || sum_of_sizes > 0x1.fp127;
    return {sum / total_, error / total_ + oracle::f32_underflow, may_be_special};  // and of the division
  }

 private:
  double weight(double lse) const { return is_empty() ? 0 : std::exp(lse - largest_); }
  /// Relative error of a weight, and of what n operations make of it: exp's own; the rounding of its argument, which
  /// may be taken to base 2 with two more; and n + 4 rounded operations.
  double weight_error(double lse) const {
    return 2 * declared_.exp2_relative_error + (3 * (largest_ - lse) + static_cast<double>(splits_ + 4)) * 0x1p-24;
  }
  std::int64_t splits_, row_, head_;
  const contract& declared_;
  std::vector<double> lse_;
  double largest_ = -std::numeric_limits<double>::infinity();
  double total_ = 0;
  double total_error_ = 0;  ///< relative
};

/// Whether the kernel may store this for a joined output.
bool is_stored(double stored, const joined_row::joined_output& expected, dtype type) {
  if (!std::isfinite(stored) && expected.may_be_special) return true;
  if (std::isnan(expected.value)) return std::isnan(stored);
  return may_be_stored(type, stored, expected.value, expected.error);
}

/// The natural logarithm that an LSE in the contract's form stands for.
double natural(const contract& declared, double lse) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (declared.lse_without_keys == empty_lse::plus_infinity && lse == none) return -none;
  return declared.base_of_lse == lse_base::two ? lse * std::numbers::ln2 : lse;
}

std::optional<std::string> first_badly_combined(const execution& ran) {
  const tensor& o = find_buffer(ran.written.buffers, "o")->view();
  const buffer* lse = find_buffer(ran.written.buffers, "lse");
  const tensor& o_partial = find_buffer(ran.written.buffers, "o_partial")->view();
  const tensor& lse_partial = find_buffer(ran.written.buffers, "lse_partial")->view();
  for (std::int64_t row = 0; row < o.shape[0]; ++row)
    for (std::int64_t head = 0; head < o.shape[1]; ++head) {
      const joined_row joined(ran, lse_partial, row, head);
      const double wrote =
          lse == nullptr ? joined.lse() : natural(ran.declared, value_at(lse->view(), lse->view().offset(row, head)));
      const bool lse_agrees = lse == nullptr             ? true
                              : joined.is_empty()        ? wrote == -std::numeric_limits<double>::infinity()
                              : std::isnan(joined.lse()) ? std::isnan(wrote)
                                                         : std::fabs(wrote - joined.lse()) <= joined.lse_error();
      if (!lse_agrees)
        return fmt::format("lse[{}, {}] is {}, but its partials join to {}", row, head, wrote, joined.lse());
      for (std::int64_t column = 0; column < o.shape[2]; ++column) {
        const double stored = value_at(o, o.offset(row, head, column));
        const auto expected = joined.is_empty() ? joined_row::joined_output{} : joined.output(o_partial, column);
        if (is_stored(stored, expected, o.type)) continue;
        return fmt::format("o[{}, {}, {}] is {}, but its partials join to {}", row, head, column, stored,
                           expected.value);
      }
    }
  return std::nullopt;
}

verdict check(const library& lib, const attention_case& c) {
  const detailed_run split = run_in_detail(lib, c);
  if (split.result.result != outcome::pass) return split.result;
  if (split.ran.planned.num_splits < 2) return discarded("there is only one split");
  // Without an order the contract does not say what partials hold.
  const bool states_partials = split.ran.declared.order != tile_order::any;
  if (const auto wrong = states_partials ? first_badly_combined(split.ran) : std::nullopt)
    return failed(combine_partials.name, *wrong);

  attention_case unsplit = c;
  unsplit.num_splits = 1;
  const detailed_run whole = run_in_detail(lib, unsplit);
  if (whole.result.result == outcome::fail) {
    if (whole.result.origin != "enclosure") return whole.result;
    return failed(combine_partials.name,
                  fmt::format("{} splits pass, but unsplit {}", split.ran.planned.num_splits, whole.result.what));
  }
  // A refusal too: one split needs no workspace, so a library that takes the case takes it.
  if (whole.result.result != outcome::pass) return whole.result;
  if (const auto wrong = first_disagreement(split.given, {split.given, split.ran, split.bounds, "splits"},
                                            {whole.given, whole.ran, whole.bounds, "one split"}))
    return failed(combine_partials.name, *wrong);
  verdict result = split.result;
  result.kernel_seconds += whole.result.kernel_seconds;
  result.oracle_seconds += whole.result.oracle_seconds;
  return result;
}

void adapt(attention_case& c, const assay_support& /*takes*/) {
  if (c.num_splits < 2) c.num_splits = 2 + static_cast<std::int32_t>(c.data.seed % 4);
}

}  // namespace

const property combine_partials{"combine_partials", "the combined partials equal the unsplit result, within enclosures",
                                check, adapt, has_splits | takes_split_counts | has_partials};

}  // namespace assay::relations
