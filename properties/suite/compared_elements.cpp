#include <cmath>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/interval.hpp"
#include "properties/suite/comparison.hpp"

namespace assay {
namespace {

using oracle::enclosed_tensor;
using oracle::interval;

/// As the judge rounds: the values of the type that the interval allows.
interval in_type(const enclosed_tensor& t, const interval& e) {
  return {oracle::round_to_nearest(t.type, e.lo), oracle::round_to_nearest(t.type, e.hi)};
}

/// One element of one library.
struct element {
  std::uint32_t bits;
  double value;
  interval allowed;
  oracle::element_rule rule;

  /// Whether the enclosure allows the value. Signs of zeros are the judge's.
  bool admits(double other) const {
    if (std::isnan(other)) return rule == oracle::element_rule::nan || oracle::admits_nan(rule);
    if (std::isinf(other) && oracle::admits_infinity(rule, other < 0)) return true;
    return oracle::has_interval(rule) && oracle::contains(allowed, other);
  }
};

element element_at(const enclosed_tensor& bounds, const tensor& t, std::int64_t flat, std::int64_t offset) {
  const std::uint32_t bits = oracle::load_bits(t, offset);
  return {bits, oracle::decode(t.type, bits), in_type(bounds, bounds.elements[static_cast<std::size_t>(flat)]),
          bounds.rule(flat)};
}

void count(agreement_counts& n, const element& a, const element& b) {
  ++n.elements;
  const bool both_nan = std::isnan(a.value) && std::isnan(b.value) && a.admits(b.value) && b.admits(a.value);
  if (a.bits == b.bits || both_nan)
    ++n.same_bits;
  else if (oracle::is_everything(a.allowed) && oracle::is_everything(b.allowed))
    ++n.unbounded;
  else if (a.admits(a.value) && a.admits(b.value) && b.admits(a.value) && b.admits(b.value))
    ++n.within_both;
  else
    ++n.across;
}

/// Only of elements of which both rules speak by their intervals alone.
bool are_apart(const element& a, const element& b) {
  const auto by_interval = [](const element& e) {
    return oracle::has_interval(e.rule) && !oracle::admits_nan(e.rule) && !oracle::is_everything(e.allowed);
  };
  return by_interval(a) && by_interval(b) && (a.allowed.hi < b.allowed.lo || b.allowed.hi < a.allowed.lo);
}

}  // namespace

agreement_counts& agreement_counts::operator+=(const agreement_counts& other) {
  elements += other.elements;
  same_bits += other.same_bits;
  within_both += other.within_both;
  across += other.across;
  unbounded += other.unbounded;
  apart += other.apart;
  return *this;
}

agreement_counts compare_outputs(const enclosed_tensor& first_bounds, const tensor& first,
                                 const enclosed_tensor& second_bounds, const tensor& second) {
  if (first_bounds.shape != second_bounds.shape || first_bounds.type != second_bounds.type ||
      first_bounds.indices != second_bounds.indices || first_bounds.elements.size() != second_bounds.elements.size())
    throw std::invalid_argument(first_bounds.name + " has another shape in the other library");
  agreement_counts n;
  const std::vector<std::int64_t>& shape = first_bounds.shape;
  std::vector<std::int64_t> at(shape.size(), 0);  // the covered element's index, but on the first axis the nth covered
  for (std::int64_t flat = 0; flat < std::ssize(first_bounds.elements); ++flat) {
    std::int64_t index[max_rank] = {};
    for (std::size_t d = 0; d < at.size(); ++d) index[d] = at[d];
    if (first_bounds.indices) index[0] = (*first_bounds.indices)[static_cast<std::size_t>(at[0])];
    const element a = element_at(first_bounds, first, flat, first.offset(index[0], index[1], index[2], index[3]));
    const element b = element_at(second_bounds, second, flat, second.offset(index[0], index[1], index[2], index[3]));
    count(n, a, b);
    n.apart += are_apart(a, b) ? 1 : 0;
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < shape[d] || d == 0) break;
      at[d] = 0;
    }
  }
  return n;
}

}  // namespace assay
