#include "fuzz/enclosures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay::fuzz {
namespace {

using oracle::enclosed_tensor;
using oracle::interval;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string text_of(const interval& e) {
  return fmt::format("[{:.17g}, {:.17g}]", e.lo, e.hi);  // all digits
}

bool is_invalid(const interval& e) {
  return !(e.lo <= e.hi);
}

std::optional<std::string> first_invalid(const enclosed_tensor& t) {
  for (std::size_t i = 0; i < t.elements.size(); ++i)
    if (t.is_enclosed(static_cast<std::int64_t>(i)) && is_invalid(t.elements[i]))
      return fmt::format("element {} of {}: {} is not an interval", i, t.name, text_of(t.elements[i]));
  return std::nullopt;
}

/// The rule, but for those of elements that are computed: only the contract's enclosure knows signs and NaN.
oracle::element_rule written_as(const enclosed_tensor& t, std::int64_t flat) {
  const oracle::element_rule rule = t.rule(flat);
  return rule == oracle::element_rule::kept || rule == oracle::element_rule::copied ? rule
                                                                                    : oracle::element_rule::enclosed;
}

/// The definition's numbers do not overflow; the contract's do.
interval in_f32(interval e) {
  constexpr double largest = 0x1.fffffep127;
  if (e.hi > largest) e.hi = infinity;
  if (e.lo < -largest) e.lo = -infinity;
  return e;
}

std::optional<std::string> disagreement(const enclosed_tensor& bounds, const enclosed_tensor& exact) {
  if (bounds.elements.size() != exact.elements.size() || bounds.indices != exact.indices)
    return bounds.name + ": the two enclosures differ in size";
  for (std::size_t i = 0; i < bounds.elements.size(); ++i) {
    const auto flat = static_cast<std::int64_t>(i);
    // Of an in-out tensor the contract may leave open what the definition keeps: intervals say what the bits are.
    const bool is_open =
        !exact.held.empty() && exact.keeps(flat) && bounds.rule(flat) == oracle::element_rule::enclosed;
    if (written_as(bounds, flat) != written_as(exact, flat) && !is_open)
      return fmt::format("element {} of {}: only one of the enclosures leaves it unwritten", i, bounds.name);
    const interval& a = bounds.elements[i];
    const interval b = in_f32(exact.elements[i]);
    const oracle::element_rule rule = bounds.rule(flat);
    const bool is_infinite = (b.hi == infinity && oracle::admits_infinity(rule, false)) ||
                             (b.lo == -infinity && oracle::admits_infinity(rule, true));
    if (bounds.is_enclosed(flat) && !is_infinite && !(a.lo <= b.hi && b.lo <= a.hi))
      return fmt::format("element {} of {}: {} and {} do not meet", i, bounds.name, text_of(a), text_of(b));
  }
  return std::nullopt;
}

}  // namespace

contract loosened(contract declared) {
  declared.p_type = dtype::f32;
  declared.p_flush = 0;
  // Slightly above round-to-nearest: mqa_logits would otherwise take dot products to be f32 numbers.
  declared.qk.result_roundoff *= 1 + 0x1p-20F;
  declared.head_rows = 0;
  return declared;
}

std::optional<std::string> disagreement(const oracle::enclosure& bounds, const oracle::enclosure& exact) {
  for (const oracle::enclosure* e : {&bounds, &exact})
    for (const enclosed_tensor& t : e->tensors)
      if (auto wrong = first_invalid(t)) return wrong;
  for (const enclosed_tensor& t : exact.tensors) {
    const auto of = std::ranges::find(bounds.tensors, t.name, &enclosed_tensor::name);
    if (of == bounds.tensors.end()) return t.name + ": the contract does not enclose it";
    if (auto wrong = disagreement(*of, t)) return wrong;
  }
  return std::nullopt;
}

}  // namespace assay::fuzz
