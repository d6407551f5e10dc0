#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/float_environment.hpp"
#include "oracle/interval.hpp"
#include "oracle/width.hpp"

namespace assay::oracle {
namespace {

/// How many indices of the first axis an enclosure covers.
std::int64_t covered_count(const enclosed_tensor& bounds) {
  if (bounds.indices) return static_cast<std::int64_t>(bounds.indices->size());
  return bounds.shape.empty() ? 1 : bounds.shape[0];
}

/// Elements of one index of the first axis.
std::int64_t slice_size(const enclosed_tensor& bounds) {
  std::int64_t n = 1;
  for (std::size_t d = 1; d < bounds.shape.size(); ++d) n *= bounds.shape[d];
  return n;
}

/// Calls visit(flat, offset, value) for each covered element, row major, but for the rows of which skips(flat, offset,
/// columns) says so. The index is kept by counting; rows that lie together are decoded together.
template <class Skips, class Visit>
void for_each_element(const enclosed_tensor& bounds, const tensor& t, Skips skips, Visit visit) {
  const std::int64_t columns = t.rank > 0 ? t.shape[t.rank - 1] : 1, stride = t.rank > 0 ? t.stride[t.rank - 1] : 1;
  std::int64_t flat = 0;
  const auto visit_row = [&](std::int64_t first, std::vector<double>& values) {
    if (stride == 1 && skips(flat, first, static_cast<std::int64_t>(values.size()))) {
      flat += static_cast<std::int64_t>(values.size());
      return;
    }
    if (stride == 1)
      load_contiguous(t, first, static_cast<std::int64_t>(values.size()), values.data());
    else
      for (std::size_t c = 0; c < values.size(); ++c)
        values[c] = load(t, first + static_cast<std::int64_t>(c) * stride);
    for (std::size_t c = 0; c < values.size(); ++c)
      visit(flat++, first + static_cast<std::int64_t>(c) * stride, values[c]);
  };
  const std::int64_t count = covered_count(bounds), slice = slice_size(bounds);
  if (count * slice == 0) return;
  const bool is_vector = t.rank == 1 && bounds.indices;  // its rows are single elements
  std::vector<double> values(static_cast<std::size_t>(is_vector ? 1 : columns));
  if (t.rank < 2 && !is_vector) return visit_row(0, values);
  const std::int64_t rows = is_vector ? 1 : slice / columns;
  for (std::int64_t nth = 0; nth < count; ++nth) {
    std::int64_t index[max_rank] = {bounds.indices ? (*bounds.indices)[static_cast<std::size_t>(nth)] : nth};
    for (std::int64_t row = 0; row < rows; ++row) {
      visit_row(t.offset(index[0], index[1], index[2], index[3]), values);
      for (int d = t.rank - 2; d > 0 && ++index[d] == t.shape[d]; --d) index[d] = 0;
    }
  }
}

/// The coordinates in the whole tensor of a covered element.
std::vector<std::int64_t> unflatten(std::int64_t flat, const enclosed_tensor& bounds) {
  std::vector<std::int64_t> index(bounds.shape.size());
  for (std::size_t d = index.size(); d-- > 1; flat /= bounds.shape[d]) index[d] = flat % bounds.shape[d];
  if (!index.empty()) index[0] = bounds.indices ? (*bounds.indices)[static_cast<std::size_t>(flat)] : flat;
  return index;
}

/// Whether the covered indices are ascending indices of the first axis.
bool has_valid_indices(const enclosed_tensor& bounds) {
  if (!bounds.indices) return true;
  if (bounds.shape.empty()) return false;
  std::int64_t before = -1;
  for (const std::int64_t i : *bounds.indices) {
    if (i <= before || i >= bounds.shape[0]) return false;
    before = i;
  }
  return true;
}

/// Distance from the middle in units of the radius, by the ends as the type holds them. A missed point: in half ulps.
double factor_of(double value, const interval& rounded, dtype type) {
  if (std::isnan(value)) return infinity;
  if (value == rounded.lo && value == rounded.hi) return 0;
  if (contains(rounded, value)) {
    if (!std::isfinite(rounded.lo) || !std::isfinite(rounded.hi)) return 1;
    const double radius = rounded.hi / 2 - rounded.lo / 2;
    return std::fabs(value - (rounded.lo + radius)) / radius;
  }
  if (!std::isfinite(value) || !std::isfinite(rounded.lo) || !std::isfinite(rounded.hi)) return infinity;
  const double middle = rounded.lo / 2 + rounded.hi / 2;
  const double radius = std::max(rounded.hi / 2 - rounded.lo / 2, ulp(type, middle) / 2);
  // Next to a binade's end a miss may be nearer than half an ulp of the middle: outside is still above 1.
  return std::max(std::fabs(value - middle) / radius, 1 + 0x1p-20);
}

const tensor& matching(const enclosed_tensor& bounds, std::span<const named_tensor> outputs) {
  const tensor* t = find(outputs, bounds.name.c_str());
  if (t == nullptr) throw std::invalid_argument("oracle: output " + bounds.name + " is missing");
  bool fits = t->type == bounds.type && static_cast<std::size_t>(t->rank) == bounds.shape.size();
  for (int d = 0; fits && d < t->rank; ++d) fits = t->shape[d] == bounds.shape[static_cast<std::size_t>(d)];
  const auto has_one_each = [&](std::size_t size) { return size == 0 || size == bounds.elements.size(); };
  fits = fits && has_one_each(bounds.kept.size()) && has_one_each(bounds.held.size()) && has_valid_indices(bounds);
  if (!fits || static_cast<std::size_t>(covered_count(bounds) * slice_size(bounds)) != bounds.elements.size())
    throw std::invalid_argument("oracle: output " + bounds.name + " does not have the type and shape of its enclosure");
  return *t;
}

/// The bits of an element that was not written.
std::uint32_t unwritten_bits(dtype type) {
  std::uint32_t bits = 0;
  for (std::int64_t byte = 0; byte < size_bytes(type); ++byte) bits = bits << 8 | unwritten_byte;
  return bits;
}

/// Whether a NaN is that of an element that no kernel wrote. Kernels write other NaNs: those of hardware are 0x7FFFFFFF
/// or have few bits set, and no live input holds this one. In-out tensors hold their inputs instead.
bool is_unwritten(const enclosed_tensor& bounds, std::uint32_t bits) {
  return bounds.held.empty() && size_bytes(bounds.type) > 1 && bits == unwritten_bits(bounds.type);
}

/// The bits that a kept or copied element must hold.
std::uint32_t bits_due(const enclosed_tensor& bounds, std::int64_t flat) {
  return bounds.held.empty() ? unwritten_bits(bounds.type) : bounds.held[static_cast<std::size_t>(flat)];
}

/// Whether the rule admits a value, whatever the interval is.
bool is_admitted(element_rule rule, double value) {
  return std::isnan(value) ? admits_nan(rule) : std::isinf(value) && admits_infinity(rule, value < 0);
}

/// Whether a value within its interval is a zero of the sign that the rule excludes.
bool is_wrong_zero(double value, element_rule rule, dtype type) {
  if (value != 0) return false;
  if (rule == element_rule::positive) return std::signbit(value);
  return rule == element_rule::negative && !std::signbit(value) && !is_fnuz(type);
}

template <class Element>
bool has_bits(const tensor& t, std::int64_t first, std::span<const std::uint32_t> due) {
  const auto* const held = static_cast<const std::byte*>(t.data) + first * static_cast<std::int64_t>(sizeof(Element));
  std::uint32_t differs = 0;  // without branches: most rows are as they were
  for (std::size_t i = 0; i < due.size(); ++i) {
    Element bits;
    std::memcpy(&bits, held + i * sizeof(Element), sizeof(Element));
    differs |= bits ^ due[i];
  }
  return differs == 0;
}

/// Whether all of a row of elements that lie together must keep given bits, and did.
bool keeps_row(const enclosed_tensor& bounds, const tensor& output, std::int64_t flat, std::int64_t first,
               std::int64_t columns) {
  if (bounds.held.empty() || bounds.kept.empty()) return false;
  const auto at = static_cast<std::size_t>(flat), count = static_cast<std::size_t>(columns);
  const auto is_kept = [](std::uint8_t rule) { return rule == static_cast<std::uint8_t>(element_rule::kept); };
  if (!std::all_of(bounds.kept.begin() + flat, bounds.kept.begin() + flat + columns, is_kept)) return false;
  const auto due = std::span(bounds.held).subspan(at, count);
  switch (size_bytes(bounds.type)) {
    case 1: return has_bits<std::uint8_t>(output, first, due);
    case 2: return has_bits<std::uint16_t>(output, first, due);
    default: return has_bits<std::uint32_t>(output, first, due);
  }
}

/// `factors`, where it is not null, receives the factor of each element that is ranked.
judgement judge_tensor(const enclosed_tensor& bounds, const tensor& output, std::vector<double>* factors = nullptr) {
  judgement j;
  j.tensor = bounds.name;
  std::int64_t worst = -1;
  const auto rank = [&](std::int64_t flat, std::int64_t offset, double value, double factor) {
    if (factors != nullptr) (*factors)[static_cast<std::size_t>(flat)] = factor;
    if (worst >= 0 && !(factor > j.worst_factor)) return;
    worst = flat;
    j.worst_factor = factor;
    j.worst_value = value;
    j.worst_bits = load_bits(output, offset);
    j.worst_enclosure = bounds.elements[static_cast<std::size_t>(flat)];
    j.worst_had_to_stay = bounds.keeps(flat);
    j.worst_rule = bounds.rule(flat);
    j.worst_is_wrong_zero = false;
  };
  const auto skips = [&](std::int64_t flat, std::int64_t first, std::int64_t columns) {
    // The first row says what is worst where nothing is wrong.
    if (worst < 0 || !keeps_row(bounds, output, flat, first, columns)) return false;
    j.elements += columns;
    return true;
  };
  for_each_element(bounds, output, skips, [&](std::int64_t flat, std::int64_t offset, double value) {
    ++j.elements;
    const element_rule rule = bounds.rule(flat);
    if (!has_interval(rule)) {
      const std::uint32_t bits = load_bits(output, offset);
      const bool is_right =
          rule == element_rule::nan ? std::isnan(value) && !is_unwritten(bounds, bits) : bits == bits_due(bounds, flat);
      j.outside += is_right ? 0 : 1;
      j.overwritten += !is_right && bounds.keeps(flat) ? 1 : 0;
      rank(flat, offset, value, is_right ? 0 : infinity);
      return;
    }
    const interval& e = bounds.elements[static_cast<std::size_t>(flat)];
    if (!(e.lo <= e.hi)) throw std::logic_error("oracle: the enclosure of " + bounds.name + " is not an interval");
    if (is_everything(e)) {
      ++j.unbounded;
      return;
    }
    const double lo = round_to_nearest(bounds.type, e.lo);
    const interval rounded{lo, e.lo == e.hi ? lo : round_to_nearest(bounds.type, e.hi)};
    if (e.lo != e.hi) {
      ++j.uncertain;
      j.sharp += holds_two_at_most(rounded, bounds.type) ? 1 : 0;
    }
    if (is_admitted(rule, value) && !is_unwritten(bounds, load_bits(output, offset)))
      return rank(flat, offset, value, 0);
    const bool is_inside = value >= rounded.lo && value <= rounded.hi;  // false for NaN
    const bool is_wrong = is_inside && is_wrong_zero(value, rule, bounds.type);
    if (!is_inside || is_wrong) ++j.outside;
    rank(flat, offset, value, is_wrong ? infinity : factor_of(value, rounded, bounds.type));
    if (worst == flat) j.worst_is_wrong_zero = is_wrong;
  });
  if (worst >= 0) j.worst_index = unflatten(worst, bounds);
  return j;
}

}  // namespace

std::vector<judgement> judge(const enclosure& bounds, std::span<const named_tensor> outputs) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  std::vector<judgement> verdicts;
  verdicts.reserve(bounds.tensors.size());
  for (const enclosed_tensor& t : bounds.tensors) verdicts.push_back(judge_tensor(t, matching(t, outputs)));
  return verdicts;
}

std::vector<double> factors(const enclosed_tensor& bounds, std::span<const named_tensor> outputs) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  std::vector<double> all(bounds.elements.size(), 0.0);
  judge_tensor(bounds, matching(bounds, outputs), &all);
  return all;
}

}  // namespace assay::oracle
